import type { SqlValue } from '../../threads/sql-messages.ts'
import type { TextSink } from '../commands/config-commands.ts'
import { count } from './show.ts'
import { distinctNames, valueJson, valueText } from './sql-values.ts'
import { textTable } from './text-table.ts'

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

/** A table; on a terminal too narrow for it, one line a value. */
export function textOutput(to: TextSink, terminalWidth: number | undefined): SqlOutput {
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
      const table = textTable(
        headings.map((name, at) => (isNumeric(all, at) ? ` ${name}` : name)),
        rows,
      )
      const width = table.reduce((widest, line) => Math.max(widest, line.length), 0)
      const isTooWide = terminalWidth !== undefined && width > terminalWidth
      for (const line of isTooWide ? onePerLine(headings, rows) : table) to.write(`${line}\n`)
      to.write(`(${count(rows.length, 'row')})\n`)
    },
  }
}

function isNumeric(rows: readonly SqlValue[][], column: number): boolean {
  return (
    rows.some((row) => row[column] !== null) &&
    rows.every((row) => ['bigint', 'number'].includes(typeof row[column]) || row[column] === null)
  )
}

function* onePerLine(headings: readonly string[], rows: readonly string[][]): Generator<string> {
  const width = Math.max(...headings.map((name) => name.length))
  for (const [at, row] of rows.entries()) {
    if (at > 0) yield ''
    for (const [column, value] of row.entries()) yield `${(headings[column] ?? '').padStart(width)}  ${value}`
  }
}
