import type { Mistake } from '../config-error.ts'
import type { RawNode } from '../tree/raw-node.ts'
import { Mistakes } from './mistakes.ts'
import type { Schema } from './schema.ts'

export type SettingsReading<T> = { kind: 'read'; settings: T } | { kind: 'faulty'; mistakes: Mistake[] }

/** Reads what stands under `path`; every mistake carries its full path. */
export function readSettings<T>(
  schema: Schema<T>,
  node: RawNode | undefined,
  path: readonly string[],
): SettingsReading<T> {
  const mistakes = new Mistakes()
  const settings = schema.read(node, path, mistakes)
  return mistakes.isFaulty ? { kind: 'faulty', mistakes: mistakes.found } : { kind: 'read', settings }
}
