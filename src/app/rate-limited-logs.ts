import type { SetAside, SetAsideStage } from '../model/faults.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'

const NOTICE_AGAIN_MS = 60_000
const MAX_TOLD = 100

/** The same trouble again and again is one line a minute; different ones are a hundred lines a minute at most. */
export class NoticeLimiter {
  readonly #nowMs: () => number
  /** When each was last told of, the one that was told first first. */
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

/** What is logged where an operator should see to something while everything goes on; `reason` beside it says to what. */
export const NOTICE_MESSAGE = 'Something needs to be looked at.'

const QUESTION_AGAIN_MS = 60_000

/** Tells of questions that could not be answered: one line a minute, with how many there were. */
export class FailedQuestionLog {
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
  /** A clock that never leaps. */
  nowMs: () => number
}

interface Untold {
  items: number
  last: SetAside
}

/** Counts what was set aside, and tells of it: one line a minute for each stage, with how many there were. */
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

  /** How many rows remember what was set aside, now and before the last start. */
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
