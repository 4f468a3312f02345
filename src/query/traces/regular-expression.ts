import { setFlagsFromString } from 'node:v8'

/** More repetitions than this of one piece V8's linear engine does not take. */
const MOST_AT_ONCE = 16
/** As in Go. */
const MOST_REPEATED = 1_000
/** Lookaround and backreferences, which no expression that is sure to end can have. */
const BEYOND_REGULAR = /\\[1-9k]|\(\?[=!<]/
/** Expressions kept: each is asked for anew for every span. */
const MOST_KEPT = 100
/** A piece of a pattern: a character, a class or an escape; a parenthesis by itself is none. */
const PIECE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|c[a-zA-Z]|.)|\[(?:\\.|[^\]\\])*\]|[^()]/sy
const REPEAT = /\{(\d{1,4})(?:(,)(\d{1,4})?)?\}(\??)/y

// What people search with must end. The first makes known which expressions can be run in linear time; the second has those
// that backtrack too much go on so.
setFlagsFromString('--enable-experimental-regexp-engine')
setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks')

const kept = new Map<string, RegExp | undefined>()

/**
 * An expression that must match the whole text and is sure to end soon, in the length of the text times its own. Undefined
 * when it is none: one that Go would not take either, or one that repeats a group more than 16 times.
 */
export function regularExpression(pattern: string): RegExp | undefined {
  if (kept.has(pattern)) return kept.get(pattern)
  if (kept.size >= MOST_KEPT) kept.clear()
  const expression = expressionOf(pattern)
  kept.set(pattern, expression)
  return expression
}

function expressionOf(pattern: string): RegExp | undefined {
  if (BEYOND_REGULAR.test(pattern)) return undefined
  try {
    const whole = new RegExp(`^(?:${pattern})$`, 's')
    if (isLinear(whole)) return whole
    const spread = new RegExp(`^(?:${spreadOut(pattern)})$`, 's')
    return isLinear(spread) ? spread : undefined
  } catch {
    return undefined
  }
}

function isLinear({ source }: RegExp): boolean {
  try {
    return new RegExp(source, 'ls').flags.includes('l')
  } catch {
    return false
  }
}

/** The same with what is repeated often, such as `[0-9a-f]{32}`, written as several pieces that are repeated less often. */
function spreadOut(pattern: string): string {
  let written = ''
  for (let at = 0; at < pattern.length;) {
    PIECE.lastIndex = at
    const piece = PIECE.exec(pattern)?.[0] ?? pattern.charAt(at)
    at += piece.length
    REPEAT.lastIndex = at
    const repeat = '()|^$'.includes(piece) ? null : REPEAT.exec(pattern)
    written += repeat === null ? piece : repeated(piece, repeat)
    at += repeat?.[0].length ?? 0
  }
  return written
}

function repeated(piece: string, [whole, least = '', comma, most, lazy = '']: RegExpExecArray): string {
  const from = Number(least)
  const to = comma === undefined ? from : Number(most ?? least)
  if (to <= MOST_AT_ONCE || to < from || to > MOST_REPEATED) return piece + whole
  const open = comma !== undefined && most === undefined ? `${piece}*${lazy}` : ''
  return (
    inParts(piece, from, (count) => `{${count}}`) +
    inParts(piece, to - from, (count) => `{0,${count}}${lazy}`) +
    open
  )
}

function inParts(piece: string, count: number, repeat: (count: number) => string): string {
  const whole = (piece + repeat(MOST_AT_ONCE)).repeat(Math.floor(count / MOST_AT_ONCE))
  const rest = count % MOST_AT_ONCE
  return rest === 0 ? whole : whole + piece + repeat(rest)
}
