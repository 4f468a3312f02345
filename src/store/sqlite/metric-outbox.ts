import type { MetricOutboxReader, MetricPart, QueuedMetrics } from '../../model/pod-stats.ts'
import type { Retention } from '../../model/store-ports.ts'
import { MIB } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { Progress } from './transactions.ts'

/** Unsent metrics may take 1/8 of `max_bytes`, and at most MOST_BYTES. */
const SHARE = 8
const MOST_BYTES = 1024 * MIB
const ROWS_A_TURN = 100

/** Metrics that exporters have not sent yet. `ExporterPositions` removes what all have sent. */
export class MetricOutbox extends OnConnection {
  readonly #progress: Progress
  readonly #maxAgeMs: number
  readonly #mostBytes: number
  readonly #isSent = this.column<[], number>('SELECT 1 FROM metric_exporters LIMIT 1')
  readonly #add = this.db.prepare(
    `INSERT INTO metric_outbox (decision, arrived_ms, points, upto_bytes, request) SELECT @decision, @wallMs, @points,
         coalesce((SELECT upto_bytes FROM metric_outbox ORDER BY decision DESC LIMIT 1), 0) + @bytes, @request`,
  )
  // The oldest row's own bytes are in its sum; it may stay alone, however large it is.
  readonly #removeOld = this.column<[{ before: number; most: number }], number>(
    `DELETE FROM metric_outbox WHERE decision IN (SELECT decision FROM metric_outbox ORDER BY decision LIMIT ${ROWS_A_TURN})
         AND (arrived_ms < @before OR upto_bytes <= (SELECT upto_bytes FROM metric_outbox ORDER BY decision DESC LIMIT 1) - @most)
       RETURNING iif(decision <= coalesce((SELECT min(position) FROM metric_exporters), decision), 0, points)`,
  )

  constructor(db: Sqlite, progress: Progress, { maxAgeMs, maxBytes }: Retention) {
    super(db)
    this.#progress = progress
    this.#maxAgeMs = maxAgeMs
    this.#mostBytes = maxBytes === 0 ? MOST_BYTES : Math.min(MOST_BYTES, Math.floor(maxBytes / SHARE))
  }

  /** Keeps a part until every exporter has sent it; drops it if there is no exporter. */
  queue({ request, points }: MetricPart): void {
    if (this.#isSent.get() !== 1) return
    const decision = this.#progress.nextMetricDecision()
    const { wallMs } = this.#progress
    this.#add.run({ decision, wallMs, points, bytes: request.length, request })
  }

  /** Removes some of the oldest parts beyond the retention limits. `isAgeKnown`: whether the wall clock can be trusted. */
  sweep(isAgeKnown: boolean): { more: boolean; unsent: number } {
    const isAged = isAgeKnown && this.#maxAgeMs > 0
    const before = isAged ? this.#progress.wallMs - this.#maxAgeMs : Number.MIN_SAFE_INTEGER
    const removed = this.#removeOld.all({ before, most: this.#mostBytes })
    return {
      more: removed.length === ROWS_A_TURN,
      unsent: removed.reduce((sum, points) => sum + points, 0),
    }
  }
}

/** The most bytes that are read at a time, plus one more part. */
const AT_ONCE_BYTES = 16 * MIB

/** Reads the metrics outbox through its own connection. */
export class SqliteMetricOutbox extends OnConnection implements MetricOutboxReader {
  readonly #after = this.db.prepare<[number, number], QueuedMetrics>(
    'SELECT decision, points, request FROM metric_outbox WHERE decision > ? ORDER BY decision LIMIT ?',
  )

  after(position: number, limit: number): QueuedMetrics[] {
    const found: QueuedMetrics[] = []
    let bytes = 0
    for (const part of this.#after.iterate(position, limit)) {
      found.push(part)
      bytes += part.request.length
      if (bytes >= AT_ONCE_BYTES) break
    }
    return found
  }
}
