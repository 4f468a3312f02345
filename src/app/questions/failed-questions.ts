import type { Logger } from '../../telemetry/logger.ts'

const TOLD_AGAIN_MS = 60_000

/** Tells of questions that could not be answered: one line a minute, with how many there were. */
export class FailedQuestions {
  readonly #log: Logger
  readonly #nowMs: () => number
  #untold = 0
  #last = ''
  #toldMs = -Infinity

  /** `nowMs`: a clock that never leaps. */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
  }

  add(reason: string): void {
    this.#untold++
    this.#last = reason
    this.tell()
  }

  /** To be called once in a while, so that the last ones are told of as well. */
  tell(): void {
    const nowMs = this.#nowMs()
    if (this.#untold === 0 || nowMs - this.#toldMs < TOLD_AGAIN_MS) return
    this.#log.error('A question could not be answered.', { questions: this.#untold, reason: this.#last })
    this.#toldMs = nowMs
    this.#untold = 0
  }
}
