import type { KeptArchive } from '../model/archive.ts'
import { type Signal, SIGNAL_UNITS, SIGNALS } from '../model/otlp-requests.ts'
import type { Positions } from '../model/outbox.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { FromExport } from './export-messages.ts'

const MS_PER_SECOND = 1000

interface ExporterPosition {
  signal: Signal
  exporter: string
  position: number
  /** When decisions began to wait for it without any progress, by `nowMs`. */
  waitsSinceMs: number
}

/** The last decisions and how far exporters were, at the start. */
interface StoredPositions {
  positions: Positions
  lastDecisions: Record<Signal, number>
  archives: ReadonlyMap<string, KeptArchive>
}

/** Sets the metrics of what each exporter sent, and how far it lags. */
export class ExporterQueues {
  readonly #metrics: Metrics
  readonly #nowMs: () => number
  readonly #positions = new Map<string, ExporterPosition>()
  #lastDecisions: Record<Signal, number> = { traces: 0, logs: 0, metrics: 0 }

  /** `nowMs`: a monotonic clock. */
  constructor(metrics: Metrics, nowMs: () => number) {
    this.#metrics = metrics
    this.#nowMs = nowMs
    metrics.beforeScrape(() => this.#setQueues())
  }

  /** Called once the database is open. */
  begin({ positions, lastDecisions, archives }: StoredPositions): void {
    this.#lastDecisions = lastDecisions
    for (const signal of SIGNALS)
      for (const [exporter, position] of positions[signal]) this.#moveTo(signal, exporter, position)
    for (const [exporter, { position }] of archives) this.#moveTo('traces', exporter, position.decision)
  }

  moved({ signal, exporter, position, delivered, refused }: Extract<FromExport, { kind: 'moved' }>): void {
    this.#moveTo(signal, exporter, position)
    this.#metrics.add(`otelcol_exporter_sent_${SIGNAL_UNITS[signal]}`, delivered, { exporter })
    this.#metrics.add(`otelcol_exporter_send_failed_${SIGNAL_UNITS[signal]}`, refused, { exporter })
  }

  archived({ exporter, position, delivered, refused }: Extract<FromExport, { kind: 'archived' }>): void {
    this.#moveTo('traces', exporter, position.decision)
    this.#metrics.add('cpid_archived_rows', delivered, { exporter })
    this.#metrics.add('cpid_unarchived_rows', refused, { exporter })
  }

  #setQueues(): void {
    for (const { signal, exporter, position, waitsSinceMs } of this.#positions.values()) {
      const labels = { exporter, data_type: signal }
      const unsent = Math.max(0, this.#lastDecisions[signal] - position)
      this.#metrics.set('otelcol_exporter_queue_size', unsent, labels)
      const seconds = unsent === 0 ? 0 : (this.#nowMs() - waitsSinceMs) / MS_PER_SECOND
      this.#metrics.set('cpid_exporter_lag', seconds, labels)
    }
  }

  #moveTo(signal: Signal, exporter: string, position: number): void {
    const waitsSinceMs = this.#nowMs()
    this.#positions.set(`${signal} ${exporter}`, { signal, exporter, position, waitsSinceMs })
  }

  /** An exporter that had nothing to send until now has been idle, not behind. */
  decided(lastDecisions: Record<Signal, number>): void {
    for (const one of this.#positions.values())
      if (one.position >= this.#lastDecisions[one.signal]) one.waitsSinceMs = this.#nowMs()
    this.#lastDecisions = lastDecisions
  }
}
