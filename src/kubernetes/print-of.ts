import { hash } from 'node:crypto'
import type { Json } from './json-access.ts'

/** The same for equal content, whatever the order of keys; `without` names fields that do not count. */
export function printOf(content: Json | undefined, without?: ReadonlySet<string>): string {
  const text = JSON.stringify(content ?? null, (key, value: unknown) => {
    if (without?.has(key) === true) return undefined
    return isPlain(value) ? Object.fromEntries(Object.entries(value).sort(byKey)) : value
  })
  return hash('sha1', text, 'base64url').slice(0, 14)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function byKey([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1
}
