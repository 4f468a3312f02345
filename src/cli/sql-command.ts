import { askSql, type FromSql, type SqlValue } from '../query/threads/ask-sql.ts'
import { unknownCpidText, readablePath } from './ask-database.ts'
import {
  CliError,
  maxRowsOf,
  messageOf,
  type Run,
  type TextSink,
  timeoutOf,
  wantsJson,
} from './command-line.ts'
import { count, fitted, printable, textTable } from './text.ts'

const DEFAULT_MAX_ROWS = 1_000
const DEFAULT_TIMEOUT_MS = 10_000

export const runSql: Run = async (line, io) => {
  const note = (text: string): void => void io.stderr.write(`Note: ${text}\n`)
  const output = wantsJson(line)
    ? jsonOutput(io.stdout)
    : textOutput(io.stdout, {
        width: line.wide === true || io.terminalWidth === 0 ? undefined : io.terminalWidth,
        onCut: () =>
          note('cells are cut to the width of the terminal; --wide or --format json shows them whole'),
      })
  const maxRows = maxRowsOf(line, DEFAULT_MAX_ROWS)
  const timeoutMs = timeoutOf(line, DEFAULT_TIMEOUT_MS)
  const path = await readablePath(line, io)
  const [written = ''] = line.args
  const sql = written === '-' ? await io.readInput() : written
  const answered = { cut: false }
  const take = (answer: FromSql): void => {
    if (answer.kind === 'columns') output.columns(answer.names)
    else if (answer.kind === 'rows') output.rows(answer.rows)
    else if (answer.kind === 'absent') note(unknownCpidText(answer.cpid, answer.why))
    else if (answer.kind === 'done') answered.cut = answer.cut
  }
  try {
    await askSql({ path, sql, maxRows }, timeoutMs, take)
  } catch (error) {
    throw new CliError(messageOf(error))
  }
  output.end()
  if (answered.cut) note(`these are the first ${count(maxRows, 'row')}; raise --max-rows to see more`)
  return 0
}

/** The characters between two columns. */
const GAP = 2
/** The least width to which cells are cut. */
const LEAST_CELL = 12

/** Prints the rows of an answer as they come. */
interface SqlOutput {
  columns(names: readonly string[]): void
  rows(rows: readonly SqlValue[][]): void
  end(): void
}

/** Writes an array of objects, row by row. */
function jsonOutput(to: TextSink): SqlOutput {
  let keys: string[] = []
  let separator = '['
  return {
    columns(names) {
      keys = distinctNames(names).map((name) => JSON.stringify(name))
    },
    rows(rows) {
      for (const row of rows) {
        to.write(
          `${separator}\n{${row.map((value, at) => `${keys[at] ?? '""'}:${valueJson(value)}`).join(',')}}`,
        )
        separator = ','
      }
    },
    end() {
      to.write(separator === '[' ? '[]\n' : '\n]\n')
    },
  }
}

interface TextRoom {
  /** The most characters in a line; undefined for no limit. */
  readonly width: number | undefined
  /** Called once if cells were cut. */
  readonly onCut: () => void
}

/** Writes a table whose widest cells are cut to fit. With too many columns, writes one value per line. */
export function textOutput(to: TextSink, { width, onCut }: TextRoom): SqlOutput {
  let headings: readonly string[] = []
  const all: SqlValue[][] = []
  return {
    columns(names) {
      headings = names
    },
    rows(rows) {
      for (const row of rows) all.push(row)
    },
    end() {
      const rows = all.map((row) => row.map(valueText))
      const isNumber = headings.map((_, at) => isNumeric(all, at))
      const widths = headings.map((name, at) => widestOf(name, rows, at))
      const most = width === undefined ? Infinity : widthOfCells(widths, isNumber, width)
      const shown = { isCut: false }
      const cut = (text: string, to: number): string => {
        shown.isCut ||= text.length > to
        return fitted(text, to)
      }
      const lines =
        most === undefined
          ? onePerLine(headings, rows, (text, taken) => cut(text, Math.max(1, (width ?? Infinity) - taken)))
          : textTable(
              headings.map(
                (name, at) =>
                  `${isNumber[at] === true ? ' ' : ''}${cut(name, isNumber[at] === true ? Infinity : most)}`,
              ),
              rows.map((row) => row.map((cell, at) => (isNumber[at] === true ? cell : cut(cell, most)))),
            )
      for (const line of lines) to.write(`${line}\n`)
      to.write(`(${count(rows.length, 'row')})\n`)
      if (shown.isCut) onCut()
    },
  }
}

function widestOf(heading: string, rows: readonly string[][], column: number): number {
  return rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), heading.length)
}

/** The most characters of a text cell with which a line fits into `width`; undefined if that is too few. */
function widthOfCells(
  widths: readonly number[],
  isNumber: readonly boolean[],
  width: number,
): number | undefined {
  const lineOf = (most: number): number =>
    widths.reduce((sum, own, at) => sum + (isNumber[at] === true ? own : Math.min(own, most)) + GAP, -GAP)
  if (lineOf(Infinity) <= width) return Infinity
  let most = LEAST_CELL - 1
  while (lineOf(most + 1) <= width) most++
  return most < LEAST_CELL ? undefined : most
}

function isNumeric(rows: readonly SqlValue[][], column: number): boolean {
  return (
    rows.some((row) => row[column] !== null) &&
    rows.every((row) => ['bigint', 'number'].includes(typeof row[column]) || row[column] === null)
  )
}

function* onePerLine(
  headings: readonly string[],
  rows: readonly string[][],
  cut: (text: string, taken: number) => string,
): Generator<string> {
  const width = Math.max(...headings.map((name) => name.length))
  for (const [at, row] of rows.entries()) {
    if (at > 0) yield ''
    for (const [column, value] of row.entries())
      yield `${(headings[column] ?? '').padStart(width)}  ${cut(value, width + GAP)}`
  }
}

/** A value for people: on one line, BLOBs as hexadecimal digits. */
function valueText(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value === '' ? '' : printable(String(value))
}

/**
 * A value for programs: BLOBs as hexadecimal digits, integers that a double cannot hold as decimal strings, as in the
 * API.
 */
function valueJson(value: SqlValue): string {
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('hex'))
  if (typeof value === 'bigint') return isExact(value) ? value.toString() : `"${value}"`
  if (typeof value === 'number' && !Number.isFinite(value)) return JSON.stringify(String(value))
  return JSON.stringify(value)
}

/** Makes names unique, so that no key of an object repeats: `cpid`, `cpid:1`. */
function distinctNames(names: readonly string[]): string[] {
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
