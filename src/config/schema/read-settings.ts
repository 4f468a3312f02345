import type { z } from 'zod'
import type { Mistake } from '../config-error.ts'
import type { RawNode } from '../tree/raw-node.ts'
import { SILENT } from './field.ts'

export type SettingsReading<T> = { kind: 'read'; settings: T } | { kind: 'faulty'; mistakes: Mistake[] }

/** Reads what stands under `path`; every mistake carries its full path. */
export function readSettings<T>(
  schema: z.ZodType<T>,
  node: RawNode | undefined,
  path: readonly string[],
): SettingsReading<T> {
  const result = schema.safeParse(node)
  if (result.success) return { kind: 'read', settings: result.data }
  return { kind: 'faulty', mistakes: result.error.issues.filter((issue) => !isSilent(issue)).map(toMistake) }

  function toMistake(issue: z.core.$ZodIssue): Mistake {
    const where = [...path, ...issue.path.map(String)].join('::')
    const message =
      issue.code === 'unrecognized_keys'
        ? `'${where}' has invalid keys: ${issue.keys.join(', ')}${issue.message}`
        : issue.message
    return { path: where, message }
  }
}

function isSilent(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params === SILENT
}
