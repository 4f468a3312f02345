import type { SqlValue } from '../../threads/sql-messages.ts'
import type { TextSink } from '../commands/config-commands.ts'
import { count } from './show.ts'
import { distinctNames, valueJson, valueText } from './sql-values.ts'
import { fitted } from './terminal.ts'
import { textTable } from './text-table.ts'

/** Between two columns. */
const GAP = 2
/** A cell that would be cut to fewer characters says too little. */
const LEAST_CELL = 12

/** Takes an answer as it comes. */
export interface SqlOutput {
  columns(names: readonly string[]): void
  rows(rows: readonly SqlValue[][]): void
  end(): void
}

/** An array of objects, written as rows come. */
export function jsonOutput(to: TextSink): SqlOutput {
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

/** What text is laid out for. */
export interface TextRoom {
  /** How wide a line may be; as wide as it likes where that is undefined. */
  readonly width: number | undefined
  /** Told once when cells were cut. */
  readonly onCut: () => void
}

/** A table, its widest cells cut to fit; where so many columns do not fit, one line a value. */
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

/** How wide cells of text may be at most so that a line is no wider than `width`; undefined when that is too little. */
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
