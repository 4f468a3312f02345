import { parseCpid, type Cpid } from '../model/cpid.ts'
import { CliError, EXIT_USAGE } from './cli-error.ts'
import type { CommandLine } from './command-line.ts'

const MAX_LIMIT = 10_000
const WHOLE_NUMBER = /^[0-9]{1,5}$/

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
  if (limit === undefined) return otherwise
  const value = WHOLE_NUMBER.test(limit) ? Number(limit) : 0
  if (value >= 1 && value <= MAX_LIMIT) return value
  throw new CliError(
    `--limit ${JSON.stringify(limit)} is out of range; write a whole number from 1 to ${MAX_LIMIT}`,
    EXIT_USAGE,
  )
}

/** The value of --state. */
export function stateOf({ state }: CommandLine): 'open' | 'settled' | undefined {
  if (state === undefined || state === 'open' || state === 'settled') return state
  throw new CliError(`--state ${JSON.stringify(state)} is unknown; write open or settled`, EXIT_USAGE)
}
