import { MAX_PROGRAM_SIZE, MAX_MATCHED_LENGTH, regularExpression } from './regular-expression.ts'

/** What one span may cost: the longest text with the largest expression, or more of what is smaller. */
const MAX_STEPS = MAX_PROGRAM_SIZE * MAX_MATCHED_LENGTH

/** Matches texts of spans against regular expressions, and bounds what that costs for each span. */
export class MatchingEffort {
  #steps = 0
  #passedOver = 0

  /** Texts that were not matched, being too long or too many in one span. They meet no comparison. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Begins with another span. True when the one before cost so much that others should have a turn. */
  next(): boolean {
    const isTired = this.#steps > 0
    this.#steps = 0
    return isTired
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
