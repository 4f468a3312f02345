import type { KeptArchive } from '../model/archive.ts'
import { DROPPING, WILL_RETRY } from '../exporter/open-transport.ts'
import type { StorageFault } from '../model/faults.ts'
import type { LinkCounts } from '../model/linker-settings-and-metrics.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { DropReason } from '../platform/connections.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type {
  AnsweredRequest,
  DroppedConnection,
  ReceiverObserver,
  UnauthenticatedRequest,
} from '../receiver/receiver-type.ts'
import type { FromExport } from '../exporter/export-messages.ts'
import type { Positions } from '../model/outbox.ts'
import type { FromStore, StoreGauges } from '../store/store-messages.ts'
import { FailedQuestionLog, NOTICE_MESSAGE, NoticeLimiter, SetAsideLog } from './rate-limited-logs.ts'

const UNITS = { traces: 'spans', logs: 'log_records' } as const

const MS_PER_SECOND = 1000

interface ExporterPosition {
  signal: Signal
  exporter: string
  position: number
  /** When decisions began to wait for it without any progress, by `nowMs`. */
  waitsSinceMs: number
}

interface TelemetrySinks {
  metrics: Metrics
  log: Logger
  /** Called with the database fault that a part of Causeway found; with undefined once it is over. */
  onFault: (part: string, fault: StorageFault | undefined) => void
  /** Called with a warning for the operator; with undefined once it is over. */
  onWarning?: (part: string, warning: string | undefined) => void
  /** A monotonic clock; the process's by default. */
  nowMs?: () => number
}

/** The state at the start. */
interface StoredState {
  positions: Positions
  lastDecisions: Record<Signal, number>
  archives: ReadonlyMap<string, KeptArchive>
}

/** Turns what the stages report into metrics and log lines. */
export class OwnTelemetry implements ReceiverObserver {
  readonly #metrics: Metrics
  readonly #log: Logger
  readonly #onFault: TelemetrySinks['onFault']
  readonly #setAsideLog: SetAsideLog
  readonly #nowMs: () => number
  readonly #faults = new Map<string, StorageFault>()
  readonly #positions = new Map<string, ExporterPosition>()
  #lastDecisions: Record<Signal, number> = { traces: 0, logs: 0 }
  #merges = 0
  readonly #noticeLimiter: NoticeLimiter
  readonly #questions: FailedQuestionLog

  constructor({ metrics, log, onFault, onWarning, nowMs }: TelemetrySinks) {
    this.#metrics = metrics
    this.#log = log
    this.#onFault = onFault
    this.#nowMs = nowMs ?? (() => performance.now())
    this.#noticeLimiter = new NoticeLimiter(this.#nowMs)
    this.#questions = new FailedQuestionLog(log, this.#nowMs)
    this.#setAsideLog = new SetAsideLog({ metrics, log, onWarning, nowMs: this.#nowMs })
    metrics.beforeScrape(() => this.#setQueues())
  }

  /** Called once the database is open, with the last decisions and the position of each exporter. */
  begin({ positions, lastDecisions, archives }: StoredState): void {
    this.#lastDecisions = lastDecisions
    for (const signal of ['traces', 'logs'] as const)
      for (const [exporter, position] of positions[signal]) this.#moveTo(signal, exporter, position)
    for (const [exporter, { position }] of archives) this.#moveTo('traces', exporter, position.decision)
  }

  answered({ receiver, transport, signal, outcome }: AnsweredRequest): void {
    const labels = { receiver, transport }
    const unit = UNITS[signal]
    if (outcome.kind === 'accepted') {
      this.#metrics.add(`otelcol_receiver_accepted_${unit}`, outcome.stored, labels)
      this.#metrics.add(`otelcol_receiver_refused_${unit}`, outcome.rejected, labels)
      if (outcome.message !== '') {
        this.#log.debug('Answered with a partial success.', {
          receiver,
          rejected: outcome.rejected,
          reason: outcome.message,
        })
      }
      return
    }
    if (outcome.kind === 'busy' && outcome.cause !== undefined)
      this.#metrics.add('cpid_refused_requests', 1, { ...labels, reason: outcome.cause })
    const kind = outcome.kind === 'failed' ? 'failed' : 'refused'
    this.#metrics.add(`otelcol_receiver_${kind}_${unit}`, 1, labels)
    if (outcome.kind === 'failed') this.#trouble(outcome.reason)
  }

  /** Merges accepted since the start. */
  get merges(): number {
    return this.#merges
  }

  unauthenticated({ receiver, transport, reason }: UnauthenticatedRequest): void {
    this.#metrics.add('cpid_unauthenticated_requests', 1, { receiver, transport })
    this.notice(`${receiver} turned a request away: ${reason}`)
  }

  dropped({ receiver, transport, reason }: DroppedConnection): void {
    this.#metrics.add('cpid_dropped_connections', 1, { receiver, transport, reason })
    this.notice(dropReasonText({ receiver, transport, reason }))
  }

  unread({ receiver, transport }: Pick<DroppedConnection, 'receiver' | 'transport'>): void {
    this.#metrics.add('cpid_unread_answers', 1, { receiver, transport })
  }

  questionFailed(reason: string): void {
    this.#questions.add(reason)
  }

  fromStore(message: FromStore): void {
    switch (message.kind) {
      case 'ingested':
        addIngestCounts(this.#metrics, message)
        this.#merges += message.counts.merges
        return

      case 'inferred':
        addInferenceCounts(this.#metrics, message)
        return
      case 'linked': {
        const { counts, figures } = message
        this.#metrics.traced('cpid_cascade_duration').merge(figures.durations)
        this.#metrics.traced('cpid_hop_latency').merge(figures.hops)
        this.#decided(message.lastDecisions)
        addLinkCounts(this.#metrics, counts)
        return
      }
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
        this.#setGauges(message.gauges)
        this.#setAsideLog.remembered(message.gauges.setAside)
        this.#questions.tell()
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
      case 'moved': {
        const { signal, exporter, position, delivered, refused } = message
        this.#moveTo(signal, exporter, position)
        this.#metrics.add(`otelcol_exporter_sent_${UNITS[signal]}`, delivered, { exporter })
        this.#metrics.add(`otelcol_exporter_send_failed_${UNITS[signal]}`, refused, { exporter })
        return
      }
      case 'archived': {
        const { exporter, position, delivered, refused } = message
        this.#moveTo('traces', exporter, position.decision)
        this.#metrics.add('cpid_archived_rows', delivered, { exporter })
        this.#metrics.add('cpid_unarchived_rows', refused, { exporter })
        return
      }
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
        this.#log.error(DROPPING, {
          'otelcol.component.id': message.exporter,
          error: message.reason,
          dropped_items: message.items,
        })
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

  #setGauges(gauges: StoreGauges): void {
    this.#metrics.set('cpid_link_lag', gauges.lag)
    this.#metrics.set('cpid_waiting', gauges.waiting)
    this.#metrics.set('cpid_traces_open', gauges.openTraces)
    this.#metrics.set('cpid_graph_cpids', gauges.cpids)
    this.#metrics.set('cpid_graph_held_cpids', gauges.held)
    this.#metrics.set('cpid_graph_tombstones', gauges.tombstones)
    this.#metrics.set('cpid_storage_used_bytes', gauges.usedBytes)
    this.#metrics.set('cpid_storage_wal_bytes', gauges.walBytes)
    this.#metrics.set('cpid_storage_free_bytes', gauges.freeBytes)
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
  #decided(lastDecisions: Record<Signal, number>): void {
    for (const one of this.#positions.values())
      if (one.position >= this.#lastDecisions[one.signal]) one.waitsSinceMs = this.#nowMs()
    this.#lastDecisions = lastDecisions
  }

  /** Reports a database fault that a part of Causeway found, or that it is over. */
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

  /** Warns the operator; everything goes on. */
  notice(reason: string): void {
    if (this.#noticeLimiter.isNew(reason)) this.#log.warn(NOTICE_MESSAGE, { reason })
  }

  #trouble(reason: string): void {
    if (this.#noticeLimiter.isNew(reason))
      this.#log.error('Storing or linking failed; it is tried again.', { reason })
  }
}

const COMMIT_MS_PER_SECOND = 1000

/** Adds what a commit stored. */
function addIngestCounts(
  metrics: Metrics,
  { counts, commitMs }: Extract<FromStore, { kind: 'ingested' }>,
): void {
  if (commitMs !== undefined) {
    metrics.add('cpid_commits', 1)
    metrics.observe('cpid_commit_duration', commitMs / COMMIT_MS_PER_SECOND)
  }
  metrics.add('cpid_mergelogs', counts.mergelogs)
  metrics.add('cpid_merges', counts.merges)
  metrics.add('cpid_mergelogs_repeated', counts.repeatedMergelogs)
  metrics.add('cpid_requests_repeated', counts.repeatedRequests)
  metrics.add('cpid_malformed_cpids', counts.malformedCpids)
  metrics.add('cpid_forbidden_items', counts.forbiddenSpans, { item: 'span' })
  metrics.add('cpid_forbidden_items', counts.forbiddenLogs, { item: 'log_record' })
  metrics.add('cpid_filter_spans_dropped', counts.filterSpans)
  for (const [reason, count] of Object.entries(counts.refusedMergelogs))
    metrics.add('cpid_mergelogs_refused', count, { reason })
}

/** Counts the outcomes of writes in observed clusters. */
function addInferenceCounts(
  metrics: Metrics,
  { decided, waiting }: Extract<FromStore, { kind: 'inferred' }>,
): void {
  for (const { cluster, operator, self, exact, inferred, unchanged, gaps, events, unmatched } of decided) {
    for (const [cause, count] of Object.entries({ operator, self, exact, inferred }))
      metrics.add('cpid_inferred_writes', count, { cluster, cause })
    metrics.add('cpid_inference_unchanged', unchanged, { cluster })
    metrics.add('cpid_inference_gaps', gaps, { cluster })
    metrics.add('cpid_inference_unmatched_admissions', unmatched, { cluster })
    metrics.add('cpid_inferred_events', events, { cluster })
  }
  metrics.set('cpid_inference_waiting', waiting)
}

/** Counts what a round of linking did. */
function addLinkCounts(metrics: Metrics, counts: LinkCounts): void {
  metrics.add('cpid_unattributed_spans', counts.unattributed)
  metrics.add('cpid_unattributed_log_records', counts.unattributedLogs)
  metrics.add('cpid_late_mergelogs', counts.lateMergelogs)
  metrics.add('cpid_late_parents', counts.lateParents)
  metrics.add('cpid_duplicate_spans', counts.duplicateSpans)
  metrics.add('cpid_duplicate_log_records', counts.duplicateLogs)
  metrics.add('cpid_cut_roots', counts.cutRoots)
  metrics.add('cpid_left_out_spans', counts.leftOut)
  metrics.add('cpid_beyond_share_spans', counts.beyondShare)
  metrics.add('cpid_traces_settled', counts.settled)
  metrics.add('cpid_episodes', counts.episodes)
}

const WHY: Readonly<Record<DropReason, string>> = {
  limit: 'there are as many as max_connections allows',
  address: 'one address has as many requests under way as max_connections_per_address allows',
  stranger: 'no credential was shown within ten seconds',
}

/** Why a connection was closed: one sentence for each reason. */
function dropReasonText({ receiver, transport, reason }: DroppedConnection): string {
  return `${receiver} closes connections or refuses requests over ${transport}: ${WHY[reason]}`
}
