import { RE2JS } from 're2js'
import { errorText } from '../../model/faults.ts'

/** The longest pattern, in characters. */
export const MAX_PATTERN_LENGTH = 256
/** The longest text that is matched, in characters. */
export const MAX_MATCHED_LENGTH = 4_096
/**
 * The largest compiled pattern, in instructions: the time of a matching step is proportional to it. It suffices for a thousand
 * repetitions of something short.
 */
export const MAX_PROGRAM_SIZE = 2_500
/** The most compiled expressions that are cached, and the most in a query. Each is used for every span, and takes up to 8 MiB in use. */
export const MAX_EXPRESSIONS = 8

/** Matches whole texts, in time linear in their length. */
export interface RegularExpression {
  /** In instructions, at most MAX_PROGRAM_SIZE. */
  readonly size: number
  matches(text: string): boolean
}

/** Why a text is not a supported expression. */
interface NoExpression {
  readonly wrong: string
}

const kept = new Map<string, RegularExpression | NoExpression>()

/** An expression in Go's syntax, which Tempo uses: RE2, where a dot matches any character. */
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

/** Estimates the size of an expression before it is compiled. */
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

/** The most work per span: the longest text with the largest expression, or more of smaller ones. */
const MAX_STEPS = MAX_PROGRAM_SIZE * MAX_MATCHED_LENGTH

/** Other work may run after this many spans, or after fewer if matching their texts costs as much as one span may. */
const SPANS_A_TURN = 200

/** Matches texts of spans against regular expressions, and limits the cost per span. */
export class MatchingEffort {
  #steps = 0
  #stepsOfTurn = 0
  #spansOfTurn = 0
  #passedOver = 0

  /** The number of texts that were not matched because they are too long, or too many in one span. They satisfy no comparison. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Starts the next span. True if the spans before cost so much that other work should run. */
  next(): boolean {
    this.#stepsOfTurn += this.#steps
    this.#steps = 0
    if (++this.#spansOfTurn < SPANS_A_TURN && this.#stepsOfTurn < MAX_STEPS) return false
    this.#spansOfTurn = this.#stepsOfTurn = 0
    return true
  }

  /** Undefined if the text was skipped. */
  matches(pattern: string, text: string): boolean | undefined {
    const expression = regularExpression(pattern)
    if ('wrong' in expression) return undefined
    this.#steps += expression.size * text.length
    if (text.length <= MAX_MATCHED_LENGTH && this.#steps <= MAX_STEPS) return expression.matches(text)
    this.#passedOver++
    return undefined
  }
}
