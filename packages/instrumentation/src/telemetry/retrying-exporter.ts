import { diag, metrics } from '@opentelemetry/api'
import { checkLimit } from '../limits.ts'
import { SCOPE } from '../scope.ts'

/** How an export ended: code 0 for success. */
export interface ExportOutcome {
  readonly code: number
  readonly error?: Error
}

/** What is used of an exporter of spans or log records of any SDK (OpenTelemetry specification, Span and LogRecord Exporter). */
export interface ItemExporter<Item> {
  export(items: Item[], done: (outcome: ExportOutcome) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

export interface RetrySettings {
  /** How many items wait at most; beyond that the oldest are dropped. 10,000 unless given. */
  readonly maxItems?: number
  /** How long an item waits at most, in milliseconds. Ten minutes unless given. */
  readonly maxWaitMs?: number
  /** For tests: time in milliseconds that no one sets, and a timer that does not keep the process. */
  readonly nowMs?: () => number
  readonly after?: (ms: number, work: () => void) => { cancel(): void }
}

interface Batch<Item> {
  readonly items: Item[]
  readonly sinceMs: number
}

const MAX_ITEMS = 10_000
const MAX_WAIT_MS = 600_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
const LOST = 'cpid.instrumentation.lost_items'

/**
 * Wraps an exporter, so that a backend which is away for minutes loses nothing: what it does not take waits in memory, in order, and is
 * sent again with growing pauses. What waits too long, or is too much, is dropped, oldest first; so is what the backend refuses for good.
 * What is dropped is counted (`lost`, the metric `cpid.instrumentation.lost_items`) and told to OpenTelemetry's `diag`.
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

  /** Takes all; what becomes of them is told by `lost`. */
  export(items: Item[], done: (outcome: ExportOutcome) => void): void {
    if (this.#isShutDown) {
      this.#drop(items.length, 'the exporter was shut down')
      done({ code: 1, error: new Error('the exporter was shut down') })
      return
    }
    this.#waiting.push({ items, sinceMs: this.#nowMs() })
    this.#items += items.length
    this.#dropExcess()
    done({ code: 0 })
    if (this.#timer === undefined) void this.#send()
  }

  /** Tries to send all that waits, once. */
  async forceFlush(): Promise<void> {
    await this.#sending
    await this.#send()
    await this.#exporter.forceFlush?.()
  }

  /** Tries to send all that waits, once; the rest is dropped. */
  async shutdown(): Promise<void> {
    if (this.#isShutDown) return
    this.#isShutDown = true
    await this.#sending
    await this.#send()
    this.#timer?.cancel()
    this.#drop(this.#items, 'the process ends')
    this.#waiting = []
    this.#items = 0
    await this.#exporter.shutdown()
  }

  /** Sends in order until one is not taken. */
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
        this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * this.#pauseMs))
        this.#timer = this.#after(this.#pauseMs, () => void this.#send())
        break
      }
      this.#pauseMs = 0
      if (outcome.code !== 0)
        this.#drop(batch.items.length, `it was refused: ${outcome.error?.message ?? ''}`)
      this.#take(0)
    }
    // At once: what comes before anybody hears that this is over would wait for the next that comes.
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
    const count = taken?.items.length ?? 0
    this.#items -= count
    return count
  }

  #dropExcess(): void {
    // What is under way may arrive.
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
      // Telemetry that fails is no concern of a controller's; the count itself stands.
    }
  }
}

const BAD_REQUEST = 400
const SERVER_ERROR = 500
/** Of these it may be that somebody cures them: credentials, a rate limit, a time that was too short. */
const CURABLE = new Set([401, 403, 404, 407, 408, 425, 429])
const GRPC_INVALID_ARGUMENT = 3

/** Whether a backend will refuse the same again, by its status of HTTP or gRPC. */
function isForGood(error: Error | undefined): boolean {
  const code = error !== undefined && 'code' in error ? Number(error.code) : Number.NaN
  if (code === GRPC_INVALID_ARGUMENT) return true
  return code >= BAD_REQUEST && code < SERVER_ERROR && !CURABLE.has(code)
}

/** The clock of the machine may be set by hours while items wait. */
function sinceStartMs(): number {
  return performance.now()
}

function unrefTimer(ms: number, work: () => void): { cancel(): void } {
  const timer = setTimeout(work, ms)
  timer.unref()
  return { cancel: () => clearTimeout(timer) }
}
