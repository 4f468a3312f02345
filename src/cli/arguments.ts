import { parseCpid, type Cpid } from '../model/cpid.ts'
import { parseDuration } from '../config/schema/duration.ts'
import { CliError, EXIT_USAGE } from './cli-error.ts'
import type { CommandLine } from './command-line.ts'

const MAX_LIMIT = 10_000
const MAX_ROWS = 1_000_000
const WHOLE_NUMBER = /^[0-9]{1,7}$/
const MAX_TIMEOUT_MS = 3_600_000

/** The CPID that an argument names. */
export function cpidOf(text: string): Cpid {
  const cpid = parseCpid(text)
  if (cpid !== undefined) return cpid
  throw new CliError(
    `${JSON.stringify(text.slice(0, 64))} is no CPID; write a UUID, with or without dashes`,
    EXIT_USAGE,
  )
}

/** True when JSON was asked for. */
export function wantsJson({ format }: CommandLine): boolean {
  if (format === undefined || format === 'text') return false
  if (format === 'json') return true
  throw new CliError(`--format ${JSON.stringify(format)} is unknown; write text or json`, EXIT_USAGE)
}

/** The value of --limit. */
export function limitOf<T>({ limit }: CommandLine, otherwise: T): number | T {
  return wholeNumber('--limit', limit, MAX_LIMIT) ?? otherwise
}

/** The value of --max-rows. */
export function maxRowsOf({ 'max-rows': maxRows }: CommandLine, otherwise: number): number {
  return wholeNumber('--max-rows', maxRows, MAX_ROWS) ?? otherwise
}

function wholeNumber(option: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined
  const value = WHOLE_NUMBER.test(text) ? Number(text) : 0
  if (value >= 1 && value <= most) return value
  throw new CliError(
    `${option} ${JSON.stringify(text)} is out of range; write a whole number from 1 to ${most}`,
    EXIT_USAGE,
  )
}

/** The value of --timeout in milliseconds. */
export function timeoutOf({ timeout }: CommandLine, otherwise: number): number {
  if (timeout === undefined) return otherwise
  const ms = parseDuration(timeout)
  if (typeof ms === 'number' && ms > 0 && ms <= MAX_TIMEOUT_MS) return ms
  throw new CliError(
    `--timeout ${JSON.stringify(timeout)} is out of range; write a duration up to 1h, such as 500ms, 30s or 5m`,
    EXIT_USAGE,
  )
}

/** The value of --state. */
export function stateOf({ state }: CommandLine): 'open' | 'settled' | undefined {
  if (state === undefined || state === 'open' || state === 'settled') return state
  throw new CliError(`--state ${JSON.stringify(state)} is unknown; write open or settled`, EXIT_USAGE)
}
