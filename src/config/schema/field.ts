import { z } from 'zod'
import { isBlank, isUnresolved, type RawNode } from '../tree/raw-node.ts'
import { readYaml } from '../tree/read-yaml.ts'
import { documented } from './schema-doc.ts'

/** Why a value cannot be taken, and what to write instead. */
export class Refusal {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

export const refuse = (reason: string): Refusal => new Refusal(reason)

/** Reads what an operator wrote; never given a blank. */
export type Reader<T> = (node: RawNode) => T | Refusal

/** One kind of value: how it is called in the docs and how it is read. */
export interface ValueKind<T> {
  readonly type: string
  readonly read: Reader<T>
  readonly textual?: boolean
  readonly secret?: boolean
}

/** Marks a failure that is already reported elsewhere. */
export const SILENT = { silent: true }

/** A key with a default, given as it would be written. */
export function field<T>(kind: ValueKind<T>, written: string, meaning: string): z.ZodType<T> {
  const fallback = readDefault(kind, written)
  return documented(
    leaf(kind, () => fallback),
    { kind: 'field', ...aboutKind(kind), default: written, meaning },
  )
}

/** A key that may be left out and then means nothing. */
export function optionalField<T>(kind: ValueKind<T>, meaning: string): z.ZodType<T | undefined> {
  return documented(
    leaf<T | undefined>(kind, () => undefined),
    { kind: 'field', ...aboutKind(kind), meaning },
  )
}

/** A key that must be written. */
export function requiredField<T>(kind: ValueKind<T>, example: string, meaning: string): z.ZodType<T> {
  return documented(
    leaf(kind, () => refuse(`is required; write for example ${example}`)),
    { kind: 'field', ...aboutKind(kind), required: true, meaning },
  )
}

/** Keys the Collector knows and Causeway does not take; the advice says what to do instead. */
export function refusedKeys<K extends string>(
  advice: string,
  ...keys: readonly K[]
): Record<K, z.ZodType<undefined>> {
  const refused = documented(
    leaf<undefined>({ type: '', read: () => refuse(advice) }, () => undefined),
    {
      kind: 'refused',
      advice,
    },
  )
  return Object.fromEntries(keys.map((key) => [key, refused])) as Record<K, z.ZodType<undefined>>
}

/** The advice for keys that tune the Collector's own machinery. */
export const NOT_HERE = 'a Collector setting that Causeway does not have; remove it'

function leaf<T>({ read }: Pick<ValueKind<T>, 'read' | 'type'>, absent: () => T | Refusal): z.ZodType<T> {
  return z
    .unknown()
    .optional()
    .transform((input, ctx): T => {
      const node = input as RawNode | undefined
      if (isUnresolved(node)) {
        ctx.addIssue({ code: 'custom', params: SILENT, continue: true })
        return z.NEVER
      }
      const result = isBlank(node) ? absent() : read(node)
      if (!(result instanceof Refusal)) return result
      ctx.addIssue({ code: 'custom', message: result.reason, continue: true })
      return z.NEVER
    })
}

function readDefault<T>({ read }: ValueKind<T>, written: string): T {
  const reading = readYaml(written)
  const value = reading.kind === 'read' ? read(reading.node) : refuse(reading.faults.join())
  if (value instanceof Refusal) throw new Error(`the default ${written} ${value.reason}`)
  return value
}

function aboutKind({ type, textual = false, secret = false }: ValueKind<unknown>) {
  return { type, textual, secret }
}
