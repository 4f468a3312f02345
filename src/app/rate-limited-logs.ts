import type { SetAside, SetAsideStage } from '../model/faults.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'

const NOTICE_AGAIN_MS = 60_000
const MAX_TOLD = 100

/** Logs the same problem once a minute, and at most a hundred different ones a minute. */
export class NoticeLimiter {
  readonly #nowMs: () => number
  /** When each was last logged, oldest first. */
  readonly #told = new Map<string, number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  isNew(reason: string): boolean {
    const nowMs = this.#nowMs()
    this.#forget(nowMs - NOTICE_AGAIN_MS)
    if (this.#told.has(reason) || this.#told.size >= MAX_TOLD) return false
    this.#told.set(reason, nowMs)
    return true
  }

  #forget(untilMs: number): void {
    for (const [reason, toldMs] of this.#told) {
      if (toldMs > untilMs) return
      this.#told.delete(reason)
    }
  }
}

/** The message of a warning for the operator; `reason` beside it says what is wrong. */
export const NOTICE_MESSAGE = 'Something needs to be looked at.'

const QUESTION_AGAIN_MS = 60_000

/** Logs failed questions: one line a minute, with their number. */
export class FailedQuestionLog {
  readonly #log: Logger
  readonly #nowMs: () => number
  #untold = 0
  #last = ''
  #toldMs = -Infinity

  /** `nowMs`: a monotonic clock. */
  constructor(log: Logger, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
  }

  add(reason: string): void {
    this.#untold++
    this.#last = reason
    this.tell()
  }

  /** Call it now and then, so that the last ones are logged too. */
  tell(): void {
    const nowMs = this.#nowMs()
    if (this.#untold === 0 || nowMs - this.#toldMs < QUESTION_AGAIN_MS) return
    this.#log.error('A question could not be answered.', { questions: this.#untold, reason: this.#last })
    this.#toldMs = nowMs
    this.#untold = 0
  }
}

const SET_ASIDE_AGAIN_MS = 60_000
const PART = 'set aside'

interface SetAsideSinks {
  metrics: Metrics
  log: Logger
  onWarning: ((part: string, warning: string | undefined) => void) | undefined
  /** A monotonic clock. */
  nowMs: () => number
}

interface Untold {
  items: number
  last: SetAside
}

/** Counts items that were set aside and logs them: one line a minute for each stage, with their number. */
export class SetAsideLog {
  readonly #sinks: SetAsideSinks
  readonly #untold = new Map<SetAsideStage, Untold>()
  readonly #toldMs = new Map<SetAsideStage, number>()

  constructor(sinks: SetAsideSinks) {
    this.#sinks = sinks
  }

  add(items: readonly SetAside[]): void {
    for (const item of items) {
      this.#sinks.metrics.add('cpid_set_aside', 1, { stage: item.stage })
      this.#untold.set(item.stage, { items: (this.#untold.get(item.stage)?.items ?? 0) + 1, last: item })
    }
    this.#tell()
  }

  /** The number of items set aside, before the last start too. */
  remembered(rows: number): void {
    this.#sinks.metrics.set('cpid_set_aside_items', rows)
    const warning =
      `items that could not be linked, settled, sent or pruned were set aside (${rows} within a week): ` +
      'SELECT * FROM audit_set_aside says why'
    this.#sinks.onWarning?.(PART, rows === 0 ? undefined : warning)
    this.#tell()
  }

  #tell(): void {
    const nowMs = this.#sinks.nowMs()
    for (const [stage, { items, last }] of this.#untold) {
      if (nowMs - (this.#toldMs.get(stage) ?? -Infinity) < SET_ASIDE_AGAIN_MS) continue
      this.#toldMs.set(stage, nowMs)
      this.#untold.delete(stage)
      const { kind, item, cpid, exporter, reason } = last
      this.#sinks.log.error('Something was set aside, so that everything else goes on.', {
        stage,
        items,
        reason,
        last: `${kind} ${item}`,
        ...(cpid !== undefined && { cpid }),
        ...(exporter !== undefined && { exporter }),
      })
    }
  }
}
