import { type Cpid, NIL_CPID, parseCpid } from '../../model/merge-graph.ts'
import { textOrNone } from '../../model/queries.ts'

/** Reads the value of a column. Throws UnexpectedAnswer if it has another type. */
type Column<Value> = (given: unknown) => Value

export type Columns = Readonly<Record<string, Column<unknown>>>

/** The type of a row with these columns. */
export type RowOf<Asked extends Columns> = { readonly [Name in keyof Asked]: ReturnType<Asked[Name]> }

/** The archive's answer does not have the form that the query asked for. */
export class UnexpectedAnswer extends Error {}

/** Reads the columns of a row. Throws UnexpectedAnswer. */
export function readRow<Asked extends Columns>(columns: Asked, row: unknown): RowOf<Asked> {
  const given = new Map(Object.entries(row ?? {}))
  const read = Object.entries(columns).map(([name, column]) => [name, column(given.get(name))] as const)
  return Object.fromEntries(read) as RowOf<Asked>
}

const MAX_SHOWN = 60
const LEAST = -(2n ** 63n)
const MOST = 2n ** 64n - 1n

function notA(what: string, given: unknown): UnexpectedAnswer {
  return new UnexpectedAnswer(
    `${(given === undefined ? 'nothing' : JSON.stringify(given)).slice(0, MAX_SHOWN)} in the place of ${what}`,
  )
}

export const text: Column<string> = (given) => {
  if (typeof given !== 'string') throw notA('a text', given)
  return given
}

export function oneOf<Word extends string>(words: readonly Word[]): Column<Word> {
  return (given) => {
    const known = words.find((word) => word === given)
    if (known === undefined) throw notA(`one of ${words.join(', ')}`, given)
    return known
  }
}

export const textIfAny: Column<string | undefined> = (given) =>
  given === null ? undefined : textOrNone(text(given))

/** ClickHouse writes 64-bit integers as JSON strings or numbers, depending on its settings. */
export const integer: Column<bigint> = (given) => {
  const written = typeof given === 'number' ? String(given) : given
  if (typeof written !== 'string' || !/^-?\d{1,20}$/.test(written)) throw notA('an integer', given)
  const value = BigInt(written)
  if (value < LEAST || value > MOST) throw notA('an integer of 64 bits', given)
  return value
}

export const integerIfAny: Column<bigint | undefined> = (given) =>
  given === null || given === '' ? undefined : integer(given)

export const count: Column<number> = (given) => Number(integer(given))

export const flag: Column<boolean> = (given) => (typeof given === 'boolean' ? given : integer(given) === 1n)

export const cpid: Column<Cpid> = (given) => {
  const read = typeof given === 'string' ? parseCpid(given) : undefined
  if (read === undefined) throw notA('a CPID', given)
  return read
}

/** The nil CPID stands for none. */
export const cpidIfAny: Column<Cpid | undefined> = (given) => (given === NIL_CPID ? undefined : cpid(given))

export function listOf<Value>(of: Column<Value>): Column<readonly Value[]> {
  return (given) => {
    if (!Array.isArray(given)) throw notA('a list', given)
    return given.map(of)
  }
}

const DIGITS_OF_SPAN = /^[0-9a-f]{16}$/

/** A span id in hex, as backends write it. */
export const spanId: Column<bigint> = (given) => {
  if (typeof given !== 'string' || !DIGITS_OF_SPAN.test(given)) throw notA('the id of a span', given)
  return BigInt(`0x${given}`)
}

export const spanIdIfAny: Column<bigint> = (given) => (given === '' ? 0n : spanId(given))

const DIGITS_OF_TRACE = /^[0-9a-f]{32}$/

export const traceId: Column<string> = (given) => {
  if (typeof given !== 'string' || !DIGITS_OF_TRACE.test(given)) throw notA('the id of a trace', given)
  return given
}

const MOST_MS = 1e15

/** A number of milliseconds; NULL is undefined. */
export const numberIfAny: Column<number | undefined> = (given) => {
  if (given === null) return undefined
  if (typeof given !== 'number' || !(Math.abs(given) < MOST_MS)) throw notA('a number', given)
  return given
}
