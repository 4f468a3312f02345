import { withoutSecrets } from './without-secrets.ts'
import { ownValue } from '../../model/own-value.ts'
/** Stands where a reference could not be followed; that mistake is already reported, so readers stay silent. */
export const UNRESOLVED = Symbol('unresolved')

/** A value that came whole from a reference such as `${env:PORT}`. Fields that want text take `text` as it was. */
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

/** The configuration as written: YAML values, references already followed. */
export type RawNode = null | boolean | number | string | RawNode[] | RawMap | Substituted | typeof UNRESOLVED

/** The YAML value, without the memory of where it came from. */
export function valueOf(node: RawNode | undefined): Exclude<RawNode, Substituted> | undefined {
  return node instanceof Substituted ? valueOf(node.value) : node
}

/** The text a text field reads here; undefined when this is no text. */
export function textOf(node: RawNode): string | undefined {
  if (node instanceof Substituted) return node.text
  return typeof node === 'string' ? node : undefined
}

export function isMap(node: RawNode | undefined): node is RawMap {
  return typeof node === 'object' && node !== null && !Array.isArray(node) && !(node instanceof Substituted)
}

/** The map here, or an empty one when something else stands in its place. */
export function mapOf(node: RawNode | undefined): RawMap {
  const value = valueOf(node)
  return isMap(value) ? value : {}
}

/** The child under a key, and undefined where there is none. */
export function childOf(node: RawNode | undefined, key: string): RawNode | undefined {
  return ownValue(mapOf(node), key)
}

/** True where nothing is written: no key, or a bare one. */
export function isBlank(node: RawNode | undefined): node is null | undefined {
  const value = valueOf(node)
  return value === null || value === undefined
}

/** True where some reference in here could not be followed. */
export function isUnresolved(node: RawNode | undefined): boolean {
  const value = valueOf(node)
  if (Array.isArray(value)) return value.some(isUnresolved)
  return value === UNRESOLVED || (isMap(value) && Object.values(value).some(isUnresolved))
}

/** What stands here, without showing it: for values that may be secret. */
export function kindOf(node: RawNode | undefined): string {
  const value = valueOf(node)
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'a number'
  return typeof value === 'boolean' ? 'true or false' : 'a map'
}

/** A longer text is not quoted in messages; quoted in part, it might show half a password. */
const MAX_QUOTED = 1_000

/** What stands here, as a mistake's message quotes it. */
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
