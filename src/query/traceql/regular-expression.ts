import { RE2JS } from 're2js'
import { errorText } from '../../model/faults.ts'

/** The longest pattern, in characters. */
export const MAX_PATTERN_LENGTH = 256
/** The longest text that is matched, in characters. */
export const MAX_MATCHED_LENGTH = 4_096
/**
 * How large what is made of a pattern may be, in instructions: a step of matching takes time in proportion. It is enough
 * for a thousand repetitions of something short.
 */
export const MAX_PROGRAM_SIZE = 2_500
/**
 * Expressions kept: each is asked for anew for every span, and one takes up to 8 MiB while it is used. A query may have
 * as many.
 */
export const MAX_EXPRESSIONS = 8

/** Matches whole texts, each in time that grows with its length and no faster. */
export interface RegularExpression {
  /** In instructions, at most MAX_PROGRAM_SIZE. */
  readonly size: number
  matches(text: string): boolean
}

/** Why a text is no expression that can be taken. */
interface NoExpression {
  readonly wrong: string
}

const kept = new Map<string, RegularExpression | NoExpression>()

/** An expression as Go, and with it Tempo, reads it: RE2, where a dot is any character. */
export function regularExpression(pattern: string): RegularExpression | NoExpression {
  const known = kept.get(pattern)
  if (known !== undefined) return known
  const expression = expressionOf(pattern)
  for (const oldest of kept.keys()) {
    if (kept.size < MAX_EXPRESSIONS) break
    kept.delete(oldest)
  }
  kept.set(pattern, expression)
  return expression
}

function expressionOf(pattern: string): RegularExpression | NoExpression {
  if (pattern.length > MAX_PATTERN_LENGTH)
    return { wrong: `it has ${pattern.length} characters; write at most ${MAX_PATTERN_LENGTH}` }
  if (sizeOf(pattern) > MAX_PROGRAM_SIZE) return TOO_LARGE
  try {
    const compiled = RE2JS.compile(pattern, RE2JS.DOTALL)
    const size = compiled.programSize()
    return size > MAX_PROGRAM_SIZE ? TOO_LARGE : { size, matches: (text) => compiled.matches(text) }
  } catch (error) {
    return { wrong: errorText(error) }
  }
}

const TOO_LARGE = {
  wrong: `it repeats too much; write counts that come to ${MAX_PROGRAM_SIZE} pieces at most`,
}

/** A piece of a pattern (an escape, a class, the beginning of a group, a character), or a count of repetitions. */
const PIECE =
  /\(\?(?:P?<\w*>|[\w-]*[:)])|\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{(\d+)(?:(,)(\d*))?\}|[\s\S]/gy

/** About how large an expression will be, told before anything of that size is made. */
function sizeOf(pattern: string): number {
  const outer: { size: number; capture: number }[] = []
  let [size, last] = [0, 0]
  for (const [piece, least, comma, most] of pattern.matchAll(PIECE)) {
    if (least !== undefined) {
      const count = Number(most === undefined || most === '' ? least : most)
      const repeated = last * count + (comma === undefined ? 0 : Math.max(1, count - Number(least)))
      size += repeated - last
      last = repeated
    } else if (piece.startsWith('(')) {
      if (piece.endsWith(')')) continue
      outer.push({ size, capture: piece.endsWith(':') ? 0 : 2 })
      size = 0
    } else if (piece === ')') {
      const around = outer.pop()
      last = size + (around?.capture ?? 0)
      size = (around?.size ?? 0) + last
    } else {
      last = '?*+'.includes(piece) ? last + 1 : 1
      size++
    }
  }
  return outer.reduce((sum, around) => sum + around.size, size)
}

/** What one span may cost: the longest text with the largest expression, or more of what is smaller. */
const MAX_STEPS = MAX_PROGRAM_SIZE * MAX_MATCHED_LENGTH

/** So many spans are looked at before others have a turn, or fewer where matching their texts costs as much as one span may. */
const SPANS_A_TURN = 200

/** Matches texts of spans against regular expressions, and bounds what that costs for each span. */
export class MatchingEffort {
  #steps = 0
  #stepsOfTurn = 0
  #spansOfTurn = 0
  #passedOver = 0

  /** Texts that were not matched, being too long or too many in one span. They meet no comparison. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Begins with another span. True when those before cost so much that others should have a turn. */
  next(): boolean {
    this.#stepsOfTurn += this.#steps
    this.#steps = 0
    if (++this.#spansOfTurn < SPANS_A_TURN && this.#stepsOfTurn < MAX_STEPS) return false
    this.#spansOfTurn = this.#stepsOfTurn = 0
    return true
  }

  /** Undefined when the text is passed over. */
  matches(pattern: string, text: string): boolean | undefined {
    const expression = regularExpression(pattern)
    if ('wrong' in expression) return undefined
    this.#steps += expression.size * text.length
    if (text.length <= MAX_MATCHED_LENGTH && this.#steps <= MAX_STEPS) return expression.matches(text)
    this.#passedOver++
    return undefined
  }
}
