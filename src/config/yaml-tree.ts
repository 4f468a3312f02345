import { type Document, isMap as isYamlMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { errorText } from '../model/faults.ts'
import { ownValue } from '../model/untrusted-names.ts'

/** Stands for a reference that could not be resolved. It has been reported, so that readers report nothing more. */
export const UNRESOLVED = Symbol('unresolved')

/** The value of a single reference such as `${env:PORT}`. Text fields use `text`, without YAML parsing. */
export class Substituted {
  readonly value: RawNode
  readonly text: string

  constructor(value: RawNode, text: string) {
    this.value = value
    this.text = text
  }
}

export interface RawMap {
  [key: string]: RawNode
}

/** A value of the configuration: YAML with resolved references. */
export type RawNode = null | boolean | number | string | RawNode[] | RawMap | Substituted | typeof UNRESOLVED

/** The plain YAML value. */
export function valueOf(node: RawNode | undefined): Exclude<RawNode, Substituted> | undefined {
  return node instanceof Substituted ? valueOf(node.value) : node
}

/** The value as text; undefined if it is not text. */
export function textOf(node: RawNode): string | undefined {
  if (node instanceof Substituted) return node.text
  return typeof node === 'string' ? node : undefined
}

export function isMap(node: RawNode | undefined): node is RawMap {
  return typeof node === 'object' && node !== null && !Array.isArray(node) && !(node instanceof Substituted)
}

/** The value as a map; empty if it is something else. */
export function mapOf(node: RawNode | undefined): RawMap {
  const value = valueOf(node)
  return isMap(value) ? value : {}
}

/** The value of a key; undefined if there is none. */
export function childOf(node: RawNode | undefined, key: string): RawNode | undefined {
  return ownValue(mapOf(node), key)
}

/** Whether a value is absent or null. */
export function isBlank(node: RawNode | undefined): node is null | undefined {
  const value = valueOf(node)
  return value === null || value === undefined
}

/** Whether a value contains an unresolved reference. */
export function isUnresolved(node: RawNode | undefined): boolean {
  const value = valueOf(node)
  if (Array.isArray(value)) return value.some(isUnresolved)
  return value === UNRESOLVED || (isMap(value) && Object.values(value).some(isUnresolved))
}

/** Describes a value without showing it, since it may be secret. */
export function kindOf(node: RawNode | undefined): string {
  const value = valueOf(node)
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'a number'
  return typeof value === 'boolean' ? 'true or false' : 'a map'
}

/** Longer texts are not quoted in messages, since a truncated one might show a part of a password. */
const MAX_QUOTED = 1_000

/** A value as it is quoted in errors. */
export function describeNode(node: RawNode | undefined): string {
  const value = valueOf(node)
  if (typeof value === 'string') {
    return value.length > MAX_QUOTED
      ? `a text of ${value.length} characters`
      : JSON.stringify(withoutSecrets(value))
  }
  if (typeof value === 'number') return `the number ${String(value)}`
  return typeof value === 'boolean' ? String(value) : kindOf(value)
}

type YamlReading =
  | { kind: 'read'; node: RawNode; lines: () => ReadonlyMap<string, number> }
  | { kind: 'faulty'; faults: string[] }

/** The deepest nesting: more than any configuration needs, and safe for recursion. */
const MAX_DEPTH = 100
const TOO_DEEP = `nested more than ${MAX_DEPTH} deep, or an anchor that contains itself; write it flatter`

/** Parses a YAML (or JSON) document. Faults have line and column. `lines` maps the path of each key and item (`a::b::0`) to its line. */
export function readYaml(text: string): YamlReading {
  const lineCounter = new LineCounter()
  try {
    // The parser's own check compares each key with all before it. `repeatedKeys` uses a set.
    const options = {
      lineCounter,
      prettyErrors: false,
      merge: true,
      uniqueKeys: false,
      logLevel: 'error',
    } as const
    const document = parseDocument(text, options)
    const found = [...document.errors, ...repeatedKeys(document)]
    // If the parser runs out of stack, its other errors are consequences.
    if (found.some(({ message }) => message.includes('call stack')))
      return { kind: 'faulty', faults: [TOO_DEEP] }
    if (found.length > 0)
      return { kind: 'faulty', faults: found.map((fault) => describeFault(fault, lineCounter)) }
    const node = (document.toJS() ?? null) as RawNode
    if (isTooDeep(node, MAX_DEPTH)) return { kind: 'faulty', faults: [TOO_DEEP] }
    return { kind: 'read', node, lines: () => linesOf(document, lineCounter) }
  } catch (fault) {
    if (fault instanceof RangeError) return { kind: 'faulty', faults: [TOO_DEEP] }
    return { kind: 'faulty', faults: [errorText(fault)] }
  }
}

function linesOf(document: Document.Parsed, counter: LineCounter): Map<string, number> {
  const lines = new Map<string, number>()
  const note = (path: string, at: unknown, inner: unknown): void => {
    const range = (at as { range?: readonly number[] } | null)?.range
    if (range?.[0] !== undefined) lines.set(path, counter.linePos(range[0]).line)
    walk(inner, `${path}::`)
  }
  const walk = (node: unknown, before: string): void => {
    if (isSeq(node)) for (const [at, item] of node.items.entries()) note(`${before}${at}`, item, item)
    if (!isYamlMap(node)) return
    for (const { key, value } of node.items)
      if (isScalar(key)) note(`${before}${String(key.value)}`, key, value)
  }
  walk(document.contents, '')
  return lines
}

interface Fault {
  readonly message: string
  readonly pos: readonly [number, number]
}

function repeatedKeys(document: Document.Parsed): Fault[] {
  const faults: Fault[] = []
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const [start = 0, end = 0] = key.range ?? []
        if (seen.has(key.value)) faults.push({ message: 'Map keys must be unique', pos: [start, end] })
        seen.add(key.value)
      }
    },
  })
  return faults
}

function isTooDeep(node: unknown, levels: number): boolean {
  if (typeof node !== 'object' || node === null) return false
  return levels === 0 || Object.values(node).some((inner) => isTooDeep(inner, levels - 1))
}

function describeFault(fault: Fault, lines: LineCounter): string {
  const { line, col } = lines.linePos(fault.pos[0])
  return `line ${line}, column ${col}: ${fault.message.split('\n', 1).join('')}`
}

const REDACTED = '[REDACTED]'
/** A user name and password before a host, with or without a scheme. */
const LOGIN = /(^|\/\/)[^/?#\s@]*:[^/?#\s]*@|(\/\/)[^/?#\s@]+@/g
/** The value of a query parameter, unless it is a placeholder. */
const PARAMETER = /([?&][^=&#\s]+=)(?!\{)[^&#\s]+/g

/** A text whose passwords and keys in URLs are redacted. */
export function withoutSecrets(text: string): string {
  if (!text.includes('@') && !text.includes('?')) return text
  const anonymous = text.replaceAll(
    LOGIN,
    (_, before: string | undefined, slashes: string | undefined) => `${before ?? slashes ?? ''}${REDACTED}@`,
  )
  return text.includes('://') ? anonymous.replaceAll(PARAMETER, `$1${REDACTED}`) : anonymous
}
