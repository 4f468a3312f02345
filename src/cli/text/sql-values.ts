import type { SqlValue } from '../../threads/sql-messages.ts'
import { plain } from './show.ts'

/** A value for people: on one line, BLOBs as hexadecimal digits. */
export function valueText(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value === '' ? '' : plain(String(value))
}

/**
 * A value for programs: BLOBs as hexadecimal digits, integers that a double cannot hold as decimal strings, as in the
 * API.
 */
export function valueJson(value: SqlValue): string {
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('hex'))
  if (typeof value === 'bigint') return isExact(value) ? value.toString() : `"${value}"`
  if (typeof value === 'number' && !Number.isFinite(value)) return JSON.stringify(String(value))
  return JSON.stringify(value)
}

/** Names that differ, so that no column of an object hides another: `cpid`, `cpid:1`. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>()
  return names.map((name) => {
    let distinct = name
    for (let number = 1; taken.has(distinct); number++) distinct = `${name}:${number}`
    taken.add(distinct)
    return distinct
  })
}

function isExact(value: bigint): boolean {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
}
