import { isBlank, isUnresolved, type RawNode } from '../tree/raw-node.ts'
import { readYaml } from '../tree/read-yaml.ts'
import type { Schema } from './schema.ts'

/** Why a value cannot be taken, and what to write instead. */
export class InvalidValue {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

export const refuse = (reason: string): InvalidValue => new InvalidValue(reason)

/** Reads what an operator wrote; never given a blank. */
export type Reader<T> = (node: RawNode) => T | InvalidValue

/** One kind of value: how it is called in the docs and how it is read. */
export interface ValueKind<T> {
  readonly type: string
  readonly read: Reader<T>
  readonly textual?: boolean
  readonly secret?: boolean
}

/** A key with a default, given as it would be written. */
export function field<T>(kind: ValueKind<T>, written: string, meaning: string): Schema<T> {
  const fallback = readDefault(kind, written)
  return {
    doc: { kind: 'field', ...aboutKind(kind), default: written, meaning },
    read: reader(kind.read, () => fallback),
  }
}

/** A key that may be left out and then means nothing. */
export function optionalField<T>(kind: ValueKind<T>, meaning: string): Schema<T | undefined> {
  return {
    doc: { kind: 'field', ...aboutKind(kind), meaning },
    read: reader<T | undefined>(kind.read, () => undefined),
  }
}

/** A key that must be written. */
export function requiredField<T>(kind: ValueKind<T>, example: string, meaning: string): Schema<T> {
  return {
    doc: { kind: 'field', ...aboutKind(kind), required: true, meaning },
    read: reader(kind.read, () => refuse(`is required; write for example ${example}`)),
  }
}

/** Keys the Collector knows and Causeway does not take; the advice says what to do instead. */
export function refusedKeys<K extends string>(
  advice: string,
  ...keys: readonly K[]
): Record<K, Schema<undefined>> {
  const refused: Schema<undefined> = {
    doc: { kind: 'refused', advice },
    read: reader<undefined>(
      () => refuse(advice),
      () => undefined,
    ),
  }
  return Object.fromEntries(keys.map((key) => [key, refused])) as Record<K, Schema<undefined>>
}

/** The advice for keys that tune the Collector's own machinery. */
export const UNSUPPORTED_COLLECTOR_KEY = 'a Collector setting that Causeway does not have; remove it'

function reader<T>(read: Reader<T>, absent: () => T | InvalidValue): Schema<T>['read'] {
  return (node, path, mistakes) => {
    if (isUnresolved(node)) return mistakes.silently()
    const result = isBlank(node) ? absent() : read(node)
    return result instanceof InvalidValue ? mistakes.add(path, result.reason) : result
  }
}

function readDefault<T>({ read }: ValueKind<T>, written: string): T {
  const reading = readYaml(written)
  const value = reading.kind === 'read' ? read(reading.node) : refuse(reading.faults.join())
  if (value instanceof InvalidValue) throw new Error(`the default ${written} ${value.reason}`)
  return value
}

function aboutKind({ type, textual = false, secret = false }: ValueKind<unknown>) {
  return { type, textual, secret }
}
