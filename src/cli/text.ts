import type { LinkedSpan } from '../model/queries.ts'
import { CONTROLS } from '../model/untrusted-names.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import type { CliIo } from './command-line.ts'

/** Nanoseconds in a millisecond. */
const MS = 1e6

/** An untrusted text on one line without control characters; a dash for none. */
export function printable(text: string | undefined): string {
  return text === undefined || text === '' ? '-' : text.replaceAll(CONTROLS, '\ufffd')
}

/** An object reference without uid and resourceVersion, on one line. */
export function objectText(reference: string | undefined): string {
  return printable(reference?.split('?', 1)[0])
}

/** A duration, rounded to three digits as in the dashboard: 12.3ms, 1.23s, 2m03s, 1h02m. */
export function duration(ns: bigint): string {
  if (ns < 0n) return `-${duration(-ns)}`
  if (ns < 1_000n) return `${ns}ns`
  const ms = Number(ns) / MS
  if (ms < 0.9995) return `${threeDigits(ms * 1_000)}µs`
  if (ms < 999.5) return `${threeDigits(ms)}ms`
  if (ms < 59_950) return `${threeDigits(ms / 1_000)}s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${twoDigits(seconds % 60)}s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)}h${twoDigits(minutes % 60)}m`
}

/** `1 span`, `2 spans` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0)
  return value.toFixed(value >= 9.995 ? 1 : 2).replace(/\.?0+$/, '')
}

function twoDigits(value: number): string {
  return value.toString().padStart(2, '0')
}

/** The writer of a span: its service and, for an operator's write, the user. */
export function writerText({ seen, service }: Pick<LinkedSpan, 'seen' | 'service'>): string {
  return seen?.cause === 'operator' ? actorText(seen.user, service) : printable(service)
}

/** A user and the program used: `alice (kubectl)`. */
export function actorText(actor: string | undefined, service: string | undefined): string {
  if (actor === undefined || actor === service) return printable(service)
  return service === undefined ? printable(actor) : `${printable(actor)} (${printable(service)})`
}

/** Aligns columns under headings. A heading that begins with a space aligns its column to the right. */
export function textTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings.map((heading) => heading.trim()), ...rows]
  const widths = headings.map((_, column) =>
    all.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0),
  )
  return all.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return headings[column]?.startsWith(' ') === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

/**
 * Aligns rows that come page by page. A column is as wide as its widest cell so far, so that a long list is not kept in memory. The last
 * column is not limited.
 */
export class AlignedRows {
  readonly #widths: number[] = []

  lines(rows: readonly (readonly string[])[]): string {
    for (const row of rows) {
      for (const [at, cell] of row.entries()) this.#widths[at] = Math.max(this.#widths[at] ?? 0, cell.length)
    }
    return rows
      .map((row) => {
        const cells = row.map((cell, at) => (at < row.length - 1 ? cell.padEnd(this.#widths[at] ?? 0) : cell))
        return `${cells.join('  ').trimEnd()}\n`
      })
      .join('')
  }
}

const PIPED_WIDTH = 100
const MIN_WIDTH = 40
const MAX_WIDTH = 400
const COLUMNS_KNOWN = /^[1-9]\d{0,3}$/

type Colour = 'dim' | 'red' | 'cyan' | 'yellow' | 'green'

const CODES: Readonly<Record<Colour, number>> = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }

export interface Terminal {
  /** Characters in a line. */
  readonly width: number
  /** Colours a text, if the output is a terminal and NO_COLOR is not set. */
  paint: (colour: Colour, text: string) => string
}

/** The layout for the output. Its width is the terminal's, or else COLUMNS, or 100 characters. */
export function terminalOf({ terminalWidth, env }: Pick<CliIo, 'terminalWidth' | 'env'>): Terminal {
  const { COLUMNS = '', NO_COLOR = '', TERM } = env
  const known = terminalWidth === 0 ? undefined : terminalWidth
  const width = known ?? (COLUMNS_KNOWN.test(COLUMNS) ? Number(COLUMNS) : PIPED_WIDTH)
  const isColoured = terminalWidth !== undefined && NO_COLOR === '' && TERM !== 'dumb'
  return {
    width: Math.min(Math.max(width, MIN_WIDTH), MAX_WIDTH),
    paint: (colour, text) => (isColoured && text !== '' ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text),
  }
}

/** Truncates text to a width with an ellipsis. Counts code points, not terminal columns. */
export function fitted(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(width - 1, 0)).join('')}…`
}

/** Pads text to a width in code points, as `fitted` counts. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(width - Array.from(text).length, 0))
}

/** The time range and the width in characters that bars cover. */
export interface Scale {
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly width: number
}

interface Bar {
  readonly waitFromNs: UnixNanos | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
}

/** The parts of a bar: blanks, the wait, and the span, which is at least one character. */
export function barParts(bar: Bar, scale: Scale): { before: string; wait: string; span: string } {
  const start = Math.min(cellOf(bar.startNs, scale), scale.width - 1)
  const end = Math.max(start + 1, cellUp(bar.endNs, scale))
  const waited = bar.waitFromNs === undefined ? start : Math.min(cellOf(bar.waitFromNs, scale), start)
  const isMoment = bar.endNs <= bar.startNs
  return {
    before: ' '.repeat(waited),
    wait: '░'.repeat(start - waited),
    span: isMoment ? '│' : '█'.repeat(end - start),
  }
}

function cellOf(ns: UnixNanos, { startNs, lastNs, width }: Scale): number {
  if (lastNs <= startNs || ns <= startNs) return 0
  const cell = ((ns - startNs) * BigInt(width)) / (lastNs - startNs)
  return cell > BigInt(width) ? width : Number(cell)
}

/** The first cell that begins at or after a time. */
function cellUp(ns: UnixNanos, scale: Scale): number {
  const { startNs, lastNs, width } = scale
  const down = cellOf(ns, scale)
  const isExact = lastNs > startNs && ((ns - startNs) * BigInt(width)) % (lastNs - startNs) === 0n
  return Math.min(isExact ? down : down + 1, width)
}
