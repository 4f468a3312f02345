import type { RequestAnswer } from '../model/ports/arrival-port.ts'
import type { Decoded } from '../model/arrivals.ts'

const MAX_REASONS = 10

/** Gathers what a request is answered: how many items were refused, and each reason once. */
export class AnswerBuilder {
  #rejected: number
  readonly #reasons: Set<string>

  constructor(decoded: Decoded<unknown> | undefined) {
    this.#rejected = decoded?.rejected ?? 0
    this.#reasons = new Set(decoded?.reasons.map((reason) => `${reason} is refused`))
  }

  reject(reason: string): void {
    this.#rejected++
    this.warn(reason)
  }

  warn(reason: string): void {
    if (this.#reasons.size < MAX_REASONS) this.#reasons.add(reason)
  }

  build(): RequestAnswer {
    return { rejected: this.#rejected, message: [...this.#reasons].join('; ') }
  }
}
