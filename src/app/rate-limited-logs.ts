import type { SetAside, SetAsideStage } from '../model/faults.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'

const NOTICE_AGAIN_MS = 60_000
const MAX_LOGGED = 100

/** Logs the same message at most once a minute, and at most a hundred different messages a minute. */
export class NoticeLimiter {
  readonly #nowMs: () => number
  /** When each message was last logged, oldest first. */
  readonly #logged = new Map<string, number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  isNew(reason: string): boolean {
    const nowMs = this.#nowMs()
    this.#forget(nowMs - NOTICE_AGAIN_MS)
    if (this.#logged.has(reason) || this.#logged.size >= MAX_LOGGED) return false
    this.#logged.set(reason, nowMs)
    return true
  }

  #forget(untilMs: number): void {
    for (const [reason, loggedMs] of this.#logged) {
      if (loggedMs > untilMs) return
      this.#logged.delete(reason)
    }
  }
}

/** The message of a warning for the operator. The field `reason` says what is wrong. */
export const NOTICE_MESSAGE = 'Something needs to be looked at.'

interface Unlogged {
  count: number
  reason: string
}

/** Logs frequent failures: for each subject the first at once, then one line a minute with the number of failures and the last reason. */
export class FailureLog {
  readonly #write: (subject: string, failures: Unlogged) => void
  readonly #nowMs: () => number
  readonly #unlogged = new Map<string, Unlogged>()
  readonly #loggedMs = new Map<string, number>()

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number, write: (subject: string, failures: Unlogged) => void) {
    this.#nowMs = nowMs
    this.#write = write
  }

  add(subject: string, reason: string, count = 1): void {
    this.#unlogged.set(subject, { count: (this.#unlogged.get(subject)?.count ?? 0) + count, reason })
    this.logDue()
  }

  /** Call it regularly, so that the last failures are logged too. */
  logDue(): void {
    const nowMs = this.#nowMs()
    for (const [subject, failures] of this.#unlogged) {
      if (nowMs - (this.#loggedMs.get(subject) ?? -Infinity) < NOTICE_AGAIN_MS) continue
      this.#loggedMs.set(subject, nowMs)
      this.#unlogged.delete(subject)
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

interface UnloggedItems {
  items: number
  last: SetAside
}

/** Counts and logs items that were set aside: for each stage one line a minute with their number. */
export class SetAsideLog {
  readonly #sinks: SetAsideSinks
  readonly #unlogged = new Map<SetAsideStage, UnloggedItems>()
  readonly #loggedMs = new Map<SetAsideStage, number>()

  constructor(sinks: SetAsideSinks) {
    this.#sinks = sinks
  }

  add(items: readonly SetAside[]): void {
    for (const item of items) {
      this.#sinks.metrics.add('cpid_set_aside', 1, { stage: item.stage })
      this.#unlogged.set(item.stage, { items: (this.#unlogged.get(item.stage)?.items ?? 0) + 1, last: item })
    }
    this.#logDue()
  }

  /** Sets the number of stored items that were set aside, also before the last start. */
  remembered(rows: number): void {
    this.#sinks.metrics.set('cpid_set_aside_items', rows)
    const warning =
      `items that could not be linked, settled, sent or pruned were set aside (${rows} within a week): ` +
      'SELECT * FROM audit_set_aside says why'
    this.#sinks.onWarning?.(PART, rows === 0 ? undefined : warning)
    this.#logDue()
  }

  #logDue(): void {
    const nowMs = this.#sinks.nowMs()
    for (const [stage, { items, last }] of this.#unlogged) {
      if (nowMs - (this.#loggedMs.get(stage) ?? -Infinity) < SET_ASIDE_AGAIN_MS) continue
      this.#loggedMs.set(stage, nowMs)
      this.#unlogged.delete(stage)
      const { kind, item, cpid, exporter, reason } = last
      this.#sinks.log.error('Items were set aside; everything else goes on.', {
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
