import type { SkipReason } from '../../model/kubernetes-observations.ts'
import { ownValue } from '../../model/names-from-outside.ts'

/** What JSON.parse gives. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

const NOTHING: JsonObject = {}

/** The object there, or one without anything: what others wrote may lack any part. */
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

/** The namespace of an object; empty where it has none. */
export function namespaceOf(object: Json): string {
  return textIn(objectIn(object, 'metadata'), 'namespace')
}

function valueIn(parent: Json | undefined, key: string): Json | undefined {
  return isObject(parent) ? ownValue(parent, key) : undefined
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]
/** So many values any text may hold, and one more for every so many bytes: what the fields of an object are managed by takes twice as many. */
const FREE_VALUES = 100_000
const BYTES_A_VALUE = 4

/**
 * What a JSON text says. Throws when it is no JSON, and before anything is made of it when it holds more values than its length
 * allows: empty ones take twenty times as many bytes in memory.
 */
export function parseBounded(text: Buffer): Json {
  const most = FREE_VALUES + Math.floor(text.length / BYTES_A_VALUE)
  // A shorter text cannot hold more.
  if (text.length > FREE_VALUES) refuseTooMany(text, most)
  return JSON.parse(text.toString('utf8')) as Json
}

/** Each value but the first of a list or an object comes after a comma, and lists and objects begin with a bracket or a brace. */
function refuseTooMany(text: Buffer, most: number): void {
  let values = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) values++
  }
  if (values > most)
    throw new RangeError(
      `its ${text.length} bytes hold ${values} values, most of them nearly empty, and ${most} are taken; send fewer in one`,
    )
}

const NEWLINE = 10

/** A line that is longer than may be held; how long, so far as it was read. */
export interface LongLine {
  readonly passedOver: number
}

/**
 * The lines of a stream, as many at a time as came together; what stands after the last end of line is no line. No more than
 * `maxBytes` of one are held: a longer one is passed over and told of in its place.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<readonly (Buffer | LongLine)[]> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    const lines: (Buffer | LongLine)[] = []
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
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

const INTEGER = /^[1-9]\d{0,17}$/

/** A resourceVersion as the integer that API servers with one store make it; undefined for any other. */
export function parseResourceVersion(text: string): bigint | undefined {
  return INTEGER.test(text) ? BigInt(text) : undefined
}

/** Plurals that the rules below do not give. */
const IRREGULAR: Readonly<Record<string, string>> = {
  Endpoints: 'endpoints',
  PodMetrics: 'pods',
  NodeMetrics: 'nodes',
}

/**
 * The resource of a kind, by the rules that Kubernetes' own code guesses with (meta.UnsafeGuessKindToResource), for
 * recordings, which name kinds alone. A live cluster is asked.
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

/** Why writes of a resource are no part of cascades; undefined for all that are. */
export function reasonNotTraced(apiVersion: string, resource: string): SkipReason | undefined {
  if (resource === 'events') return 'event'
  if (resource === 'leases' || apiVersion.startsWith('coordination.k8s.io/')) return 'lease'
  return REVIEWS.test(resource) ? 'no_object' : undefined
}
