import { diag, metrics } from '@opentelemetry/api'
import { checkLimit } from '../limits.ts'
import { SCOPE } from '../scope.ts'

/** The result of an export; code 0 is success. */
export interface ExportOutcome {
  readonly code: number
  readonly error?: Error
}

/** An exporter of spans or log records of any SDK (OpenTelemetry specification, Span and LogRecord Exporter). */
export interface ItemExporter<Item> {
  export(items: Item[], done: (outcome: ExportOutcome) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

export interface RetrySettings {
  /** The most waiting items; beyond that the oldest are dropped. 10,000 unless given. */
  readonly maxItems?: number
  /** The longest wait of an item, in milliseconds; ten minutes unless given. */
  readonly maxWaitMs?: number
  /** For tests: a monotonic clock in milliseconds, and a timer that does not keep the process alive. */
  readonly nowMs?: () => number
  readonly after?: (ms: number, work: () => void) => { cancel(): void }
}

interface Batch<Item> {
  readonly items: Item[]
  readonly sinceMs: number
  /** Calls `done`, once. */
  readonly told: () => void
}

const MAX_ITEMS = 10_000
const MAX_WAIT_MS = 600_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** The longest delay of `done`. Until then a processor exports nothing else, and drops items when its queue is full. */
const LONGEST_UNTOLD_MS = 1_000
const LOST = 'cpid.instrumentation.lost_items'

/**
 * Wraps an exporter so that a backend outage of minutes loses nothing: failed items wait in memory, in order, and are retried with
 * backoff. Items beyond the limits are dropped, oldest first, as are items that the backend refuses permanently. Dropped items are
 * counted (`lost`, the metric `cpid.instrumentation.lost_items`) and reported to OpenTelemetry's `diag`.
 */
export class RetryingExporter<Item> implements ItemExporter<Item> {
  readonly #exporter: ItemExporter<Item>
  readonly #maxItems: number
  readonly #maxWaitMs: number
  readonly #nowMs: () => number
  readonly #after: NonNullable<RetrySettings['after']>
  #waiting: Batch<Item>[] = []
  #items = 0
  #pauseMs = 0
  #timer: { cancel(): void } | undefined
  #isSending = false
  #sending = Promise.resolve()
  #lost = 0
  #isShutDown = false

  constructor(exporter: ItemExporter<Item>, settings: RetrySettings = {}) {
    const {
      maxItems = MAX_ITEMS,
      maxWaitMs = MAX_WAIT_MS,
      nowMs = sinceStartMs,
      after = unrefTimer,
    } = settings
    this.#exporter = exporter
    this.#maxItems = checkLimit('maxItems', maxItems, 1)
    this.#maxWaitMs = checkLimit('maxWaitMs', maxWaitMs, 0)
    this.#nowMs = nowMs
    this.#after = after
  }

  /** How many items were dropped. */
  get lost(): number {
    return this.#lost
  }

  /** How many items wait to be sent. */
  get waiting(): number {
    return this.#items
  }

  /**
   * Accepts all items; later drops are counted in `lost`. Calls `done` when the first attempt has ended, after a second at the latest,
   * and at once while the backend is down. The `forceFlush()` of a batch processor waits only for `done`.
   */
  export(items: Item[], done: (outcome: ExportOutcome) => void): void {
    if (this.#isShutDown) {
      this.#drop(items.length, 'the exporter was shut down')
      done({ code: 1, error: new Error('the exporter was shut down') })
      return
    }
    const isAway = this.#timer !== undefined
    const slow = isAway ? undefined : this.#after(LONGEST_UNTOLD_MS, () => told())
    let isTold = false
    const told = (): void => {
      slow?.cancel()
      if (isTold) return
      isTold = true
      done({ code: 0 })
    }
    this.#waiting.push({ items, sinceMs: this.#nowMs(), told })
    this.#items += items.length
    this.#dropExcess()
    if (isAway) told()
    else void this.#send()
  }

  /** Tries once to send all waiting items. */
  async forceFlush(): Promise<void> {
    await this.#sending
    await this.#send()
    await this.#exporter.forceFlush?.()
  }

  /** Tries once to send all waiting items, and drops the rest. */
  async shutdown(): Promise<void> {
    if (this.#isShutDown) return
    this.#isShutDown = true
    await this.#sending
    await this.#send()
    this.#timer?.cancel()
    this.#drop(this.#items, 'the process ends')
    for (const { told } of this.#waiting) told()
    this.#waiting = []
    this.#items = 0
    await this.#exporter.shutdown()
  }

  /** Sends batches in order until one fails. */
  #send(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    if (!this.#isSending) this.#sending = this.#sendAll()
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    for (;;) {
      this.#dropOld()
      const [batch] = this.#waiting
      if (batch === undefined) break
      const outcome = await this.#tryOnce(batch.items)
      if (outcome.code !== 0 && !isForGood(outcome.error)) {
        for (const { told } of this.#waiting) told()
        this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pauseMs))
        this.#timer = this.#after(this.#pauseMs, () => void this.#send())
        break
      }
      this.#pauseMs = 0
      if (outcome.code !== 0)
        this.#drop(batch.items.length, `it was refused: ${outcome.error?.message ?? ''}`)
      this.#take(0)
    }
    // Reset before the promise resolves: a batch that arrives in between would otherwise wait for the next one.
    this.#isSending = false
  }

  #tryOnce(items: Item[]): Promise<ExportOutcome> {
    return new Promise((resolve) => {
      try {
        this.#exporter.export(items, resolve)
      } catch (error) {
        resolve({ code: 1, error: error instanceof Error ? error : new Error(String(error)) })
      }
    })
  }

  #take(at: number): number {
    const [taken] = this.#waiting.splice(at, 1)
    taken?.told()
    const count = taken?.items.length ?? 0
    this.#items -= count
    return count
  }

  #dropExcess(): void {
    // The batch in flight may still be delivered.
    const first = this.#isSending ? 1 : 0
    let dropped = 0
    while (this.#items > this.#maxItems && this.#waiting.length > first + 1) dropped += this.#take(first)
    this.#drop(dropped, `more than ${this.#maxItems} wait`)
  }

  #dropOld(): void {
    let dropped = 0
    const oldestMs = this.#nowMs() - this.#maxWaitMs
    while (this.#waiting[0] !== undefined && this.#waiting[0].sinceMs < oldestMs) dropped += this.#take(0)
    this.#drop(dropped, `they waited for more than ${this.#maxWaitMs / 1000} s`)
  }

  #drop(count: number, why: string): void {
    if (count === 0) return
    this.#lost += count
    try {
      diag.warn(`causeway-instrumentation: ${count} spans or log records are dropped, since ${why}`)
      metrics
        .getMeter(SCOPE)
        .createCounter(LOST, {
          unit: '{item}',
          description: 'Spans and log records that were not delivered.',
        })
        .add(count)
    } catch {
      // Failing telemetry must not fail the controller; the count is kept.
    }
  }
}

const BAD_REQUEST = 400
const SERVER_ERROR = 500
/** Statuses that may go away: credentials, rate limits, timeouts. */
const CURABLE = new Set([401, 403, 404, 407, 408, 425, 429])
const GRPC_INVALID_ARGUMENT = 3

/** Whether a backend refuses permanently, by its HTTP or gRPC status. */
function isForGood(error: Error | undefined): boolean {
  const code = error !== undefined && 'code' in error ? Number(error.code) : Number.NaN
  if (code === GRPC_INVALID_ARGUMENT) return true
  return code >= BAD_REQUEST && code < SERVER_ERROR && !CURABLE.has(code)
}

/** A monotonic clock, since the system clock may be set while items wait. */
function sinceStartMs(): number {
  return performance.now()
}

function unrefTimer(ms: number, work: () => void): { cancel(): void } {
  const timer = setTimeout(work, ms)
  timer.unref()
  return { cancel: () => clearTimeout(timer) }
}
