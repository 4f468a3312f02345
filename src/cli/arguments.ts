import { parseCpid, parseCpidPrefix, type Cpid, type CpidPrefix } from '../model/cpid.ts'
import type { CausewayQueries } from '../model/ports/query-port.ts'
import { parseDuration } from '../config/schema/duration.ts'
import { CliError, EXIT_USAGE } from './cli-error.ts'
import type { CommandLine } from './command-line.ts'

/** How many CPIDs are named where several are meant. */
const MOST_NAMED = 8
const MAX_LIMIT = 10_000
const MAX_ROWS = 1_000_000
const WHOLE_NUMBER = /^[0-9]{1,7}$/
const MAX_TIMEOUT_MS = 3_600_000

/**
 * Reads an argument that names a CPID, whole or by how it begins; what is given back looks for it. Throws CliError where it
 * cannot be one, and later where none that is known begins so, or several do.
 */
export function cpidOf(text: string): (queries: CausewayQueries) => Cpid {
  const cpid = parseCpid(text)
  if (cpid !== undefined) return () => cpid
  const prefix = parseCpidPrefix(text)
  if (prefix !== undefined) return (queries) => theOneBeginning(prefix, queries)
  throw new CliError(
    `${JSON.stringify(text.slice(0, 64))} is no CPID; write a UUID, or at least its first eight digits`,
    EXIT_USAGE,
  )
}

function theOneBeginning(prefix: CpidPrefix, queries: CausewayQueries): Cpid {
  const [first, ...others] = queries.cpidsBeginning(prefix, MOST_NAMED + 1)
  if (first === undefined) {
    throw new CliError(
      `no mergelog, span or log has named a CPID that begins with ${prefix}; check it, and whether its sender reaches Causeway`,
    )
  }
  if (others.length === 0) return first
  const named = [first, ...others].slice(0, MOST_NAMED).join(', ')
  const more = others.length < MOST_NAMED ? '' : ' and others'
  throw new CliError(
    `several CPIDs begin with ${prefix}: ${named}${more}; write more digits of the one you mean`,
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
    `--timeout ${JSON.stringify(timeout)} is out of range, and there is no off; write a duration up to 1h, such as 500ms, 30s or 5m`,
    EXIT_USAGE,
  )
}

/** The value of --state. */
export function stateOf({ state }: CommandLine): 'open' | 'settled' | undefined {
  if (state === undefined || state === 'open' || state === 'settled') return state
  throw new CliError(`--state ${JSON.stringify(state)} is unknown; write open or settled`, EXIT_USAGE)
}
