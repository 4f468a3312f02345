import { randomInt } from 'node:crypto'
import type { SkipReason } from '../../model/kubernetes-observations.ts'
import { ownValue } from '../../model/untrusted-names.ts'

export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

const NOTHING: JsonObject = {}

/** The object under this key, or an empty one: any part of the input may be missing. */
export function objectIn(parent: Json | undefined, key: string): JsonObject {
  const value = valueIn(parent, key)
  return isObject(value) ? value : NOTHING
}

export function arrayIn(parent: Json | undefined, key: string): Json[] {
  const value = valueIn(parent, key)
  return Array.isArray(value) ? value : []
}

export function textIn(parent: Json | undefined, key: string): string {
  const value = valueIn(parent, key)
  return typeof value === 'string' ? value : ''
}

export function numberIn(parent: Json | undefined, key: string): number {
  const value = valueIn(parent, key)
  return typeof value === 'number' ? value : 0
}

export function booleanIn(parent: Json | undefined, key: string): boolean {
  return valueIn(parent, key) === true
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The namespace of an object; empty if it has none. */
export function namespaceOf(object: Json): string {
  return textIn(objectIn(object, 'metadata'), 'namespace')
}

function valueIn(parent: Json | undefined, key: string): Json | undefined {
  return isObject(parent) ? ownValue(parent, key) : undefined
}

const [QUOTE, BACKSLASH, COMMA, COLON, BRACKET, BRACE, SPACE] = [0x22, 0x5c, 0x2c, 0x3a, 0x5b, 0x7b, 0x20]
/**
 * The memory cost of values, in steps of about 32 bytes: a list or an object costs as much as four other values. Any text may cost a
 * fixed number of steps, plus more in proportion to its bytes. What API servers send costs about a ninth of a step per byte.
 */
const COST_OF_LIST = 4
const FREE_COST = 600_000
const BYTES_A_STEP = 8
/**
 * Distinct names cost ten times as much, and so do short texts that are interned. For comparison: 14 MiB of real events contain 4,000.
 */
const MOST_DIFFERENT = 220_000
const SHORT_TEXT = 10
/** A shorter text cannot exceed the limit. */
const COUNTED_FROM_BYTES = 100_000

/**
 * Parses JSON. Throws if the text is not JSON. Also throws, before building any value, if the result would cost more memory than its
 * length allows: empty values and distinct names take many times their bytes in memory.
 */
export function parseBounded(text: Buffer): Json {
  if (text.length > COUNTED_FROM_BYTES) refuseTooMany(text)
  return JSON.parse(text.toString('utf8')) as Json
}

/** Counts values by commas, brackets and braces, and throws a RangeError when there are too many for the length. */
function refuseTooMany(text: Buffer): void {
  let [lists, commas, names] = [0, 0, 0]
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (byte === QUOTE) {
      const end = endOfText(text, at + 1)
      if (isKeptOnce(text, at, end)) names++
      at = end
    } else if (byte === COMMA) commas++
    else if (byte === BRACE || byte === BRACKET) lists++
  }
  const [values, cost] = [lists + commas, lists * COST_OF_LIST + commas]
  const most = FREE_COST + Math.floor(text.length / BYTES_A_STEP)
  if (cost > most)
    throw new RangeError(
      `its ${text.length} bytes hold ${values} values, most of them nearly empty, and ${Math.floor((values * most) / cost)} like these are taken; send fewer in one`,
    )
  const different = names > MOST_DIFFERENT ? differentIn(text) : names
  if (different > MOST_DIFFERENT)
    throw new RangeError(
      `its ${text.length} bytes hold ${different} different names and short texts, and ${MOST_DIFFERENT} are taken; send fewer in one`,
    )
}

/** The position of the quotation mark that ends a text. */
function endOfText(text: Buffer, from: number): number {
  let at = from
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
  return at
}

/** Whether the text between these quotation marks is interned: it is short, or a name followed by a colon. */
function isKeptOnce(text: Buffer, quote: number, end: number): boolean {
  if (end - quote - 1 <= SHORT_TEXT) return true
  let at = end + 1
  while (at < text.length && (text[at] ?? COLON) <= SPACE) at++
  return text[at] === COLON
}

const HASH_BITS = 22
const HASH_PRIME = 0x01000193
/** Random per process, so that a sender cannot predict hash collisions. */
const HASH_SEED = randomInt(2 ** 32)

/** The number of distinct names and short texts, or slightly fewer because of hash collisions. */
function differentIn(text: Buffer): number {
  const seen = new Uint8Array(2 ** (HASH_BITS - 3))
  let count = 0
  for (let at = text.indexOf(QUOTE); at !== -1; at = text.indexOf(QUOTE, at + 1)) {
    const end = endOfText(text, at + 1)
    if (isKeptOnce(text, at, end)) {
      const place = placeOf(text, at + 1, end)
      const [byte, bit] = [place >>> 3, 1 << (place & 7)]
      const bits = seen[byte] ?? 0
      if ((bits & bit) === 0) count++
      seen[byte] = bits | bit
    }
    at = end
  }
  return count
}

function placeOf(text: Buffer, from: number, to: number): number {
  let hash = HASH_SEED
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (text[at] ?? 0), HASH_PRIME)
  return Math.imul(hash ^ (hash >>> 15), HASH_PRIME) >>> (32 - HASH_BITS)
}

const NEWLINE = 10
const RETURN = 13

/** A line above the size limit, and its length as far as it was read. */
export interface LongLine {
  readonly passedOver: number
}

/** A run of blank lines, counted, since a file may hold hundreds of millions. */
export interface BlankLines {
  readonly blank: number
}

/**
 * The lines of a stream, in batches as they arrive. An unterminated last line is dropped. At most `maxBytes` of a line are held: a longer
 * line is skipped and reported as a `LongLine` in its place.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<readonly (Buffer | LongLine | BlankLines)[]> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    const lines: (Buffer | LongLine | BlankLines)[] = []
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const blank = length === 0 ? blankFrom(chunk, from) : NO_BLANK
      if (blank.count > 0) {
        lines.push({ blank: blank.count })
        from = blank.to
        continue
      }
      const rest = chunk.subarray(from, end)
      length += rest.length
      lines.push(
        length > maxBytes
          ? { passedOver: length }
          : begun.length === 0
            ? rest
            : Buffer.concat([...begun, rest], length),
      )
      begun = []
      length = 0
      from = end + 1
    }
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > maxBytes) begun = []
    else if (rest.length > 0) begun.push(rest)
    if (lines.length > 0) yield lines
  }
}

const NO_BLANK = { count: 0, to: 0 }

/** How many blank lines begin at `from`, which is the start of a line, and where they end. */
function blankFrom(chunk: Buffer, from: number): { readonly count: number; readonly to: number } {
  let count = 0
  let to = from
  for (;;) {
    const end = chunk[to] === RETURN ? to + 1 : to
    if (chunk[end] !== NEWLINE) return count === 0 ? NO_BLANK : { count, to }
    count++
    to = end + 1
  }
}

const INTEGER = /^[1-9]\d{0,17}$/

/** A resourceVersion as the integer that API servers with one store use; undefined for any other. */
export function parseResourceVersion(text: string): bigint | undefined {
  return INTEGER.test(text) ? BigInt(text) : undefined
}

/** Plurals that do not follow the rules below. */
const IRREGULAR: Readonly<Record<string, string>> = {
  Endpoints: 'endpoints',
  PodMetrics: 'pods',
  NodeMetrics: 'nodes',
}

/**
 * The resource of a kind, guessed by the rules of Kubernetes' own code (meta.UnsafeGuessKindToResource). Used for recordings, which name
 * only kinds. A live cluster is asked instead.
 */
export function resourceOfKind(kind: string): string {
  const irregular = ownValue(IRREGULAR, kind)
  if (irregular !== undefined) return irregular
  const lower = kind.toLowerCase()
  if (lower.endsWith('s')) return `${lower}es`
  return lower.endsWith('y') && !/[aeiou]y$/.test(lower) ? `${lower.slice(0, -1)}ies` : `${lower}s`
}

/** Requests that are answered without storing an object. */
const REVIEWS = /(?:review|reviews)$/

/** Why writes of a resource are not traced; undefined if they are. */
export function reasonNotTraced(apiVersion: string, resource: string): SkipReason | undefined {
  if (resource === 'events') return 'event'
  if (resource === 'leases' || apiVersion.startsWith('coordination.k8s.io/')) return 'lease'
  return REVIEWS.test(resource) ? 'no_object' : undefined
}
