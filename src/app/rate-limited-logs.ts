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

interface Untold {
  count: number
  reason: string
}

/** Logs what may fail often: for each subject the first at once, then one line a minute with the number of failures and the last reason. */
export class FailureLog {
  readonly #write: (subject: string, failures: Untold) => void
  readonly #nowMs: () => number
  readonly #untold = new Map<string, Untold>()
  readonly #toldMs = new Map<string, number>()

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number, write: (subject: string, failures: Untold) => void) {
    this.#nowMs = nowMs
    this.#write = write
  }

  add(subject: string, reason: string, count = 1): void {
    this.#untold.set(subject, { count: (this.#untold.get(subject)?.count ?? 0) + count, reason })
    this.tell()
  }

  /** Call it now and then, so that the last ones are logged too. */
  tell(): void {
    const nowMs = this.#nowMs()
    for (const [subject, failures] of this.#untold) {
      if (nowMs - (this.#toldMs.get(subject) ?? -Infinity) < NOTICE_AGAIN_MS) continue
      this.#toldMs.set(subject, nowMs)
      this.#untold.delete(subject)
      this.#write(subject, failures)
    }
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

interface UntoldItems {
  items: number
  last: SetAside
}

/** Counts items that were set aside and logs them: one line a minute for each stage, with their number. */
export class SetAsideLog {
  readonly #sinks: SetAsideSinks
  readonly #untold = new Map<SetAsideStage, UntoldItems>()
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
