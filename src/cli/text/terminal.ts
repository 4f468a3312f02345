import type { CliIo } from '../cli-io.ts'

const PIPED_WIDTH = 100
const MIN_WIDTH = 40
const MAX_WIDTH = 400
const DIGITS = /^\d{1,4}$/

export type Colour = 'dim' | 'red' | 'cyan' | 'yellow' | 'green'

const CODES: Readonly<Record<Colour, number>> = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }

/** What text is laid out for. */
export interface Terminal {
  /** Characters in a line. */
  readonly width: number
  /** Colours only on a terminal, and never against NO_COLOR. */
  paint: (colour: Colour, text: string) => string
}

/** The terminal; COLUMNS, or else 100 characters, where the output goes elsewhere. */
export function terminalOf({ terminalWidth, env }: Pick<CliIo, 'terminalWidth' | 'env'>): Terminal {
  const { COLUMNS = '', NO_COLOR = '', TERM } = env
  const width = terminalWidth ?? (DIGITS.test(COLUMNS) ? Number(COLUMNS) : PIPED_WIDTH)
  const isColoured = terminalWidth !== undefined && NO_COLOR === '' && TERM !== 'dumb'
  return {
    width: Math.min(Math.max(width, MIN_WIDTH), MAX_WIDTH),
    paint: (colour, text) => (isColoured && text !== '' ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text),
  }
}

/** Text that is at most so wide; what is cut off is shown by an ellipsis. Counts code points, not columns. */
export function fitted(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(width - 1, 0)).join('')}…`
}

/** Pads by code points, as `fitted` cuts. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(width - Array.from(text).length, 0))
}
