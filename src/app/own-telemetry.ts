import { ExporterQueues } from '../exporter/exporter-queues.ts'
import type { FromExport } from '../exporter/export-messages.ts'
import { DROPPING, WILL_RETRY } from '../exporter/open-transport.ts'
import type { StorageFault } from '../model/faults.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import { ReceiverTelemetry } from '../receiver/receiver-telemetry.ts'
import type { FromStore } from '../store/store-messages.ts'
import { countInferred, countIngested, countLinked, setStoreGauges } from '../store/store-telemetry.ts'
import { FailureLog, NOTICE_MESSAGE, NoticeLimiter, SetAsideLog } from './rate-limited-logs.ts'

interface TelemetrySinks {
  metrics: Metrics
  log: Logger
  /** Called with a database fault that a part of Causeway found; with undefined when the fault is over. */
  onFault: (part: string, fault: StorageFault | undefined) => void
  /** Called with a warning for the operator; with undefined when the warning is over. */
  onWarning?: (part: string, warning: string | undefined) => void
  /** A monotonic clock; the system's by default. */
  nowMs?: () => number
}

/** Turns what the stages report into metrics and log lines. */
export class OwnTelemetry {
  /** For receivers and other listeners. */
  readonly receivers: ReceiverTelemetry
  /** How far the exporters are. */
  readonly exporters: ExporterQueues
  readonly #metrics: Metrics
  readonly #log: Logger
  readonly #onFault: TelemetrySinks['onFault']
  readonly #onWarning: TelemetrySinks['onWarning']
  readonly #setAsideLog: SetAsideLog
  readonly #nowMs: () => number
  readonly #faults = new Map<string, StorageFault>()
  #merges = 0
  readonly #noticeLimiter: NoticeLimiter
  readonly #questions: FailureLog
  readonly #drops: FailureLog

  constructor({ metrics, log, onFault, onWarning, nowMs }: TelemetrySinks) {
    this.#metrics = metrics
    this.#log = log
    this.#onFault = onFault
    this.#onWarning = onWarning
    this.#nowMs = nowMs ?? (() => performance.now())
    this.#noticeLimiter = new NoticeLimiter(this.#nowMs)
    this.#questions = new FailureLog(this.#nowMs, (_, { count, reason }) =>
      log.error('A question could not be answered.', { questions: count, reason }),
    )
    this.#drops = new FailureLog(this.#nowMs, (exporter, { count, reason }) =>
      log.error(DROPPING, { 'otelcol.component.id': exporter, error: reason, dropped_items: count }),
    )
    this.#setAsideLog = new SetAsideLog({ metrics, log, onWarning, nowMs: this.#nowMs })
    this.exporters = new ExporterQueues(metrics, this.#nowMs)
    this.receivers = new ReceiverTelemetry({
      ...{ metrics, log },
      onNotice: (reason) => this.notice(reason),
      onTrouble: (reason) => this.#trouble(reason),
    })
  }

  /** How many merges have been accepted since the start. */
  get merges(): number {
    return this.#merges
  }

  questionFailed(reason: string): void {
    this.#questions.add('', reason)
  }

  fromStore(message: FromStore): void {
    switch (message.kind) {
      case 'ingested':
        countIngested(this.#metrics, message)
        this.#merges += message.counts.merges
        if (message.lastDecisions !== undefined) this.exporters.decided(message.lastDecisions)
        return
      case 'inferred':
        countInferred(this.#metrics, message)
        return
      case 'linked':
        this.exporters.decided(message.lastDecisions)
        countLinked(this.#metrics, message)
        return
      case 'pruned':
        this.#metrics.add('cpid_pruned_cpids', message.result.cpids)
        this.#metrics.add('cpid_pruned_spans', message.result.spans)
        this.#metrics.add('cpid_pruned_unsettled', message.result.unsettled)
        this.#metrics.add('cpid_pruned_unsent_items', message.result.unsent)
        return
      case 'setAside':
        this.#setAsideLog.add(message.items)
        return
      case 'gauges':
        setStoreGauges(this.#metrics, message.gauges)
        this.#setAsideLog.remembered(message.gauges.setAside)
        this.#questions.logDue()
        this.#drops.logDue()
        return
      case 'trouble':
        this.#trouble(message.reason)
        return
      case 'notice':
        this.notice(message.reason)
        return
      case 'clockLeapt':
        this.#metrics.add('cpid_clock_leaps', 1)
        this.notice(message.reason)
        return
      case 'checkpointsEnded':
        this.#metrics.add('cpid_checkpoint_thread_ends', 1)
        this.notice(message.reason)
        return
      case 'storage':
        this.storage('store', message.fault)
        return
      case 'fatal':
        this.#log.error('The store thread ended.', { reason: message.reason })
        return
      case 'alive':
      case 'ready':
      case 'caughtUp':
      case 'observed':
      case 'clusterAnswer':
      case 'resting':
      case 'stopped':
        return
    }
  }

  fromExport(message: FromExport): void {
    switch (message.kind) {
      case 'moved':
        this.exporters.moved(message)
        return
      case 'archived':
        this.exporters.archived(message)
        return
      case 'inFlight':
        this.#metrics.set('otelcol_exporter_in_flight_requests', message.requests, {
          exporter: message.exporter,
          data_type: message.signal,
        })
        return
      case 'retrying':
        this.#log.info(WILL_RETRY, {
          'otelcol.component.id': message.exporter,
          error: message.reason,
          interval: `${message.delayMs}ms`,
        })
        return
      case 'dropped':
        this.#drops.add(message.exporter, message.reason, message.items)
        return
      case 'archiveLost':
        this.#metrics.add('cpid_archive_losses', 1, { exporter: message.exporter })
        this.notice(`the archive of exporter ${message.exporter} ${message.reason}`)
        return
      case 'trouble':
        this.notice(`exporter ${message.exporter} ${message.reason}`)
        return
      case 'storage':
        this.storage(`exporter ${message.exporter}`, message.fault)
        return
      case 'setAside':
        this.#setAsideLog.add(message.items)
        return
      case 'logLine':
        this.#log.info(message.line)
        return
      case 'fatal':
        this.#log.error('The export thread ended.', { reason: message.reason })
        return
      case 'ready':
      case 'stopped':
        return
    }
  }

  /** Why the database cannot be used at present; undefined if it can. */
  get storageTrouble(): string | undefined {
    return this.#faults.values().next().value?.reason
  }

  /** Records a database fault that a part of Causeway found; undefined: its fault is over. */
  storage(part: string, fault: StorageFault | undefined): void {
    const before = this.#faults.get(part)
    if (fault === undefined) this.#faults.delete(part)
    else this.#faults.set(part, fault)
    for (const kind of new Set([before, fault].flatMap((one) => one?.kind ?? []))) {
      const isThere = [...this.#faults.values()].some((one) => one.kind === kind)
      this.#metrics.set('cpid_storage_fault', isThere ? 1 : 0, { kind })
    }
    this.#onFault(part, fault)
    if (fault !== undefined) this.#log.error('The database cannot be used.', { part, reason: fault.reason })
    else if (before !== undefined) this.#log.info('The database can be used again.', { part })
  }

  /** Logs a warning for the operator. */
  notice(reason: string): void {
    if (this.#noticeLimiter.isNew(reason)) this.#log.warn(NOTICE_MESSAGE, { reason })
  }

  /** Shows a warning of a part of Causeway in the health check; undefined: its warning is over. */
  warning(part: string, warning: string | undefined): void {
    this.#onWarning?.(part, warning)
  }

  #trouble(reason: string): void {
    if (this.#noticeLimiter.isNew(reason))
      this.#log.error('Storing or linking failed; it is tried again.', { reason })
  }
}
