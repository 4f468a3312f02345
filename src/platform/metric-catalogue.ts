import { counter, gauge, histogram, histogramWithExemplars, readWhenScraped } from './metric-spec.ts'

const FLOW = ['flow'] as const

/** Fairness between senders. */
const FLOW_METRICS = {
  cpid_flow_waiting_requests: gauge(
    'requests',
    FLOW,
    'The number of requests of one sender that are waiting to be stored, which is limited while other senders wait too.',
  ),
  cpid_flow_waiting_bytes: gauge(
    'bytes',
    FLOW,
    'The number of bytes of one sender that are waiting to be stored.',
  ),
  cpid_flow_refused_requests: counter(
    'requests',
    FLOW,
    'The number of requests of one sender that were refused for now, so that their senders retry, because it exceeded its share while others were sending.',
  ),
  cpid_flow_limit_requests: gauge(
    'requests',
    [],
    'The number of requests that one sender may have waiting while others send too.',
  ),
  cpid_flow_limit_bytes: gauge(
    'bytes',
    [],
    'The number of bytes that one sender may have waiting while others send too.',
  ),
}

const CLUSTER = ['cluster'] as const

/** Inference. */
const CLUSTER_METRICS = {
  cpid_inferred_writes: counter(
    'writes',
    ['cluster', 'cause'],
    'The number of writes of observed clusters whose cause was decided: `operator`, `self`, `exact` or `inferred`.',
  ),
  cpid_inference_unchanged: counter(
    'writes',
    CLUSTER,
    'The number of observed versions and requests that were known already, or that changed only a heartbeat.',
  ),
  cpid_inference_gaps: counter(
    'writes',
    CLUSTER,
    'The number of writes before which versions of the object were not observed.',
  ),
  cpid_inference_unmatched_admissions: counter(
    'requests',
    CLUSTER,
    'The number of requests for which no write was observed: they were refused after `k8s_admission` had reported them, or no watch reported their version, or the audit log has no responses and does not name the object.',
  ),
  cpid_inferred_events: counter(
    'events',
    CLUSTER,
    'The number of Events that became log records in the cascade of their object.',
  ),
  cpid_inference_waiting: gauge(
    'items',
    [],
    'The number of observed writes and Events whose cause is not decided yet.',
  ),
}

const OBSERVING_RECEIVER = ['receiver'] as const

/** Receivers that watch clusters. */
const OBSERVING_METRICS = {
  cpid_observations: counter(
    'observations',
    OBSERVING_RECEIVER,
    'The number of versions, requests and Events that a receiver observed and stored.',
  ),
  cpid_observations_skipped: counter(
    'observations',
    ['receiver', 'reason'],
    'The number of records that a receiver read and skipped, because they describe no write.',
  ),
  cpid_observations_unreadable: counter(
    'items',
    OBSERVING_RECEIVER,
    'The number of audit log lines, objects, Events and AdmissionReviews that could not be read and were skipped.',
  ),
  cpid_observations_lost: counter(
    'observations',
    OBSERVING_RECEIVER,
    'The number of admission requests that could not be stored in time: they were allowed all the same, and their writes may show no user.',
  ),
  cpid_audit_log_lag_bytes: gauge(
    'bytes',
    OBSERVING_RECEIVER,
    'The number of bytes of the audit log that are not stored yet.',
  ),
  cpid_watches: counter(
    'watches',
    OBSERVING_RECEIVER,
    'The number of watch requests that were started: each lasts some minutes, and the next one continues where it ended.',
  ),
  cpid_relists: counter(
    'lists',
    OBSERVING_RECEIVER,
    'The number of times a resource was listed again, because its watch had been interrupted for longer than the API server keeps versions.',
  ),
  cpid_refused_resources: gauge(
    'resources',
    OBSERVING_RECEIVER,
    'The number of resources that the receiver is not allowed to list or watch, so that their objects are not observed.',
  ),
}

const RECEIVER = ['receiver', 'transport'] as const
const REFUSED = ['receiver', 'transport', 'reason'] as const
const EXPORTER = ['exporter'] as const
const QUEUE = ['exporter', 'data_type'] as const
const SERVICE = ['service_name', 'service_version', 'service_instance_id'] as const

/** Every metric there is. Names are as an operator sees them, and once released never change. */
export const METRICS = {
  otelcol_receiver_accepted_spans: counter(
    'spans',
    RECEIVER,
    'The number of spans that were received and stored.',
  ),
  otelcol_receiver_refused_spans: counter(
    'spans',
    RECEIVER,
    'The number of spans that were refused for good, and of requests that were refused as a whole.',
  ),
  otelcol_receiver_failed_spans: counter(
    'spans',
    RECEIVER,
    'The number of requests with spans that could not be stored because of a fault in Causeway.',
  ),
  otelcol_receiver_accepted_log_records: counter(
    'records',
    RECEIVER,
    'The number of log records that were received and stored.',
  ),
  otelcol_receiver_refused_log_records: counter(
    'records',
    RECEIVER,
    'The number of log records that were refused for good, and of requests that were refused as a whole.',
  ),
  otelcol_receiver_failed_log_records: counter(
    'records',
    RECEIVER,
    'The number of requests with log records that could not be stored because of a fault in Causeway.',
  ),
  otelcol_receiver_accepted_metric_points: counter(
    'points',
    RECEIVER,
    'The number of metric data points that were received and stored.',
  ),
  otelcol_receiver_refused_metric_points: counter(
    'points',
    RECEIVER,
    'The number of data points that were refused for good, and of requests that were refused as a whole.',
  ),
  otelcol_receiver_failed_metric_points: counter(
    'points',
    RECEIVER,
    'The number of requests with data points that could not be stored because of a fault in Causeway.',
  ),
  otelcol_exporter_sent_spans: counter('spans', EXPORTER, 'The number of spans that the backend accepted.'),
  otelcol_exporter_send_failed_spans: counter(
    'spans',
    EXPORTER,
    'The number of spans that were skipped because the backend refused them for good.',
  ),
  otelcol_exporter_sent_log_records: counter(
    'records',
    EXPORTER,
    'The number of log records that the backend accepted.',
  ),
  otelcol_exporter_send_failed_log_records: counter(
    'records',
    EXPORTER,
    'The number of log records that were skipped because the backend refused them for good.',
  ),
  otelcol_exporter_sent_metric_points: counter(
    'points',
    EXPORTER,
    'The number of metric data points that the backend accepted.',
  ),
  otelcol_exporter_send_failed_metric_points: counter(
    'points',
    EXPORTER,
    'The number of metric data points that the backend refused, or did not accept before newer ones were due.',
  ),
  otelcol_exporter_queue_size: gauge(
    'decisions',
    QUEUE,
    'The number of rows in the outbox that have not been sent to the backend yet.',
  ),
  otelcol_exporter_in_flight_requests: gauge(
    'requests',
    QUEUE,
    'The number of export requests that the backend has not answered yet.',
  ),
  otelcol_process_uptime: readWhenScraped('counter', 'seconds', 'The time since the process started.', () =>
    process.uptime(),
  ),
  otelcol_process_cpu_seconds: readWhenScraped(
    'counter',
    'seconds',
    'The processor time that the process has used in user and system mode.',
    cpuSeconds,
  ),
  otelcol_process_memory_rss: readWhenScraped(
    'gauge',
    'bytes',
    'The physical memory that the process uses.',
    () => process.memoryUsage.rss(),
  ),
  otelcol_process_runtime_heap_alloc_bytes: readWhenScraped(
    'gauge',
    'bytes',
    'The JavaScript heap that the main thread uses.',
    () => process.memoryUsage().heapUsed,
  ),
  otelcol_process_runtime_total_sys_memory_bytes: readWhenScraped(
    'gauge',
    'bytes',
    'The memory that the JavaScript runtime obtained from the system for the main thread.',
    systemBytes,
  ),

  cpid_cascade_duration: histogramWithExemplars(
    [],
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800],
    'The time from the first to the last activity of each settled cascade, over all its traces, in the mode `cascade`; activity after its root has settled counts as a cascade of its own.',
  ),
  cpid_hop_latency: histogramWithExemplars(
    ['service', 'kind'],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    'The time from the end of a write to the start of the first reconcile of a service that observed it, in the mode `cascade`.',
  ),
  cpid_merges: counter('merges', [], 'The number of accepted mergelogs that have sources.'),
  ...FLOW_METRICS,
  cpid_refused_requests: counter(
    'requests',
    REFUSED,
    'The number of requests that were refused for now, so that their senders retry, by reason: `memory`, `in_flight`, `flow` or `time`.',
  ),
  cpid_in_flight_bytes: gauge('bytes', [], 'The number of bytes of requests that are being read and stored.'),
  cpid_in_flight_limit_bytes: gauge('bytes', [], 'The limit of `cpid_in_flight_bytes`.'),
  cpid_connections: gauge(
    'connections',
    RECEIVER,
    'The number of open connections to each port of receivers, the query API, metrics and the health check.',
  ),
  cpid_connections_limit: gauge('connections', RECEIVER, 'The limit of `cpid_connections`.'),
  cpid_dropped_connections: counter(
    'connections',
    REFUSED,
    'The number of connections that were closed and requests that were refused, by reason: `limit` (too many connections), `address` (too many from one address) or `stranger` (no credential).',
  ),
  cpid_unread_answers: counter(
    'answers',
    RECEIVER,
    'The number of answers that were cut off because their client did not read them for `write_timeout`, or while other answers needed the memory.',
  ),
  cpid_memory_used_bytes: gauge(
    'bytes',
    [],
    'The memory that the memory limiter counts: resident memory, on Linux without mapped files.',
  ),
  cpid_memory_limit_bytes: gauge('bytes', [], 'The hard limit of the memory limiter.'),
  cpid_memory_soft_limit_bytes: gauge(
    'bytes',
    [],
    'The soft limit of the memory limiter: requests are refused while more memory is in use.',
  ),
  cpid_memory_refusing: gauge(
    'state',
    [],
    'Is 1 while requests are refused because memory is short, else 0.',
  ),

  cpid_unauthenticated_requests: counter(
    'requests',
    RECEIVER,
    'The number of requests that were refused because they had no valid credential.',
  ),
  cpid_mergelogs: counter('mergelogs', [], 'The number of accepted mergelogs that were not stored before.'),
  cpid_mergelogs_refused: counter('mergelogs', ['reason'], 'The number of refused mergelogs, by reason.'),
  cpid_forbidden_items: counter(
    'items',
    ['item'],
    'The number of spans, log records and data points that were refused because their sender is not allowed to send them.',
  ),
  cpid_pod_points_left_out: counter(
    'points',
    [],
    'The number of measurements of Pods that were sent on but are in no answer, because too many were waiting to be matched with changes.',
  ),
  cpid_filter_spans_dropped: counter(
    'spans',
    [],
    'The number of filter spans of Kubernetes API servers that were dropped, because `filter_spans` is `drop`.',
  ),
  cpid_mergelogs_repeated: counter(
    'mergelogs',
    [],
    'The number of mergelogs that were identical to a stored one.',
  ),
  cpid_requests_repeated: counter(
    'requests',
    [],
    'The number of requests that had been stored before and were only answered again.',
  ),
  cpid_late_mergelogs: counter(
    'mergelogs',
    [],
    'The number of mergelogs that arrived after spans of their CPID had been sent without them.',
  ),
  cpid_late_parents: counter(
    'spans',
    [],
    'The number of parent spans that arrived after their children had been sent without them.',
  ),
  cpid_unattributed_spans: counter(
    'spans',
    [],
    'The number of spans that belong to no change and were sent on unchanged.',
  ),
  cpid_unattributed_log_records: counter(
    'records',
    [],
    'The number of log records that belong to no change and were sent on unchanged.',
  ),
  cpid_malformed_cpids: counter(
    'spans',
    [],
    'The number of spans and log records whose `cpid.id` is not a UUID.',
  ),
  cpid_duplicate_spans: counter(
    'spans',
    [],
    'The number of spans that had been stored before, even if they were batched or encoded differently; the first one counts.',
  ),
  cpid_duplicate_log_records: counter(
    'records',
    [],
    'The number of log records that had been stored before, even if they were batched or encoded differently; the first one counts.',
  ),
  cpid_cut_roots: counter(
    'roots',
    [],
    'The number of open roots that were left out because a change descends from more than `max_fanout` of them.',
  ),
  cpid_left_out_spans: counter(
    'spans',
    [],
    'The number of back links and late parents that did not fit into their full trace.',
  ),
  cpid_beyond_share_spans: counter(
    'spans',
    [],
    'The number of spans of other clusters that exceeded their share of a trace.',
  ),
  cpid_own_id_spans: counter(
    'spans',
    [],
    'The number of spans that were left out of a trace because they have the id of one of its change spans, or were added by a Causeway.',
  ),
  cpid_traces_open: gauge('traces', [], 'The number of traces that have not settled.'),
  cpid_traces_settled: counter('traces', [], 'The number of traces that have settled.'),
  cpid_episodes: counter('episodes', [], 'The number of episodes that were opened.'),
  cpid_waiting: gauge(
    'items',
    [],
    'The number of spans, log records and mergelogs that wait for something that has not arrived.',
  ),
  cpid_link_lag: gauge('items', [], 'The number of stored items that are not linked yet.'),
  cpid_set_aside: counter(
    'items',
    ['stage'],
    'The number of items that were skipped because a fault in Causeway or a lost row kept them from being linked, settled, sent, pruned or inferred.',
  ),
  cpid_set_aside_items: gauge(
    'items',
    [],
    'The number of rows in `audit_set_aside`, which has at most a thousand and none older than a week.',
  ),
  ...CLUSTER_METRICS,
  ...OBSERVING_METRICS,
  cpid_graph_cpids: gauge('cpids', [], 'The number of CPIDs in the merge graph.'),
  cpid_graph_held_cpids: gauge(
    'cpids',
    [],
    'The number of CPIDs beyond `max_cpids` or `max_age` that are kept because they are open, waiting or not sent by every exporter.',
  ),
  cpid_graph_tombstones: gauge('cpids', [], 'The number of pruned CPIDs whose names are still stored.'),
  cpid_pruned_cpids: counter('cpids', [], 'The number of CPIDs that retention has pruned.'),
  cpid_pruned_spans: counter('spans', [], 'The number of spans that retention has pruned.'),
  cpid_pruned_unsettled: counter(
    'traces',
    [],
    'The number of cascades that were pruned to keep `max_bytes` while they were open or not fully sent.',
  ),
  cpid_pruned_unsent_items: counter(
    'items',
    [],
    'The number of spans and log records without a CPID that were pruned to keep `max_bytes` before they were linked and sent.',
  ),
  cpid_storage_wal_bytes: gauge(
    'bytes',
    [],
    'The length of the write-ahead log, which grows while a program keeps a read of the database open.',
  ),
  cpid_checkpoint_thread_ends: counter(
    'ends',
    [],
    'The number of times that the thread which moves the write-ahead log into the database ended by itself and was started again.',
  ),
  cpid_storage_free_bytes: gauge('bytes', [], 'The number of free bytes on the disk of the database.'),
  cpid_storage_fault: gauge(
    'faults',
    ['kind'],
    'Is 1 while the database cannot be used, by the kind of fault, else 0.',
  ),
  cpid_storage_used_bytes: gauge('bytes', [], 'The number of bytes in use in the database.'),
  cpid_commit_duration: histogram(
    'seconds',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    'The duration of each commit of received data.',
  ),
  cpid_commits: counter('commits', [], 'The number of commits of received data.'),
  cpid_archived_rows: counter('rows', ['exporter'], 'The number of rows that the archive accepted.'),
  cpid_unarchived_rows: counter(
    'rows',
    ['exporter'],
    'The number of rows that ClickHouse cannot store, and of refused mergelogs that were pruned before they were archived.',
  ),
  cpid_archive_losses: counter(
    'losses',
    ['exporter'],
    'The number of times that the archive was found to lack what had been written to it, because it was dropped or replaced by an older copy.',
  ),
  cpid_exporter_lag: gauge(
    'seconds',
    QUEUE,
    'The time for which the backend has accepted nothing although rows in the outbox wait for it, or 0 if none waits.',
  ),
  cpid_clock_leaps: counter(
    'leaps',
    [],
    'The number of times that the clock of this machine leapt compared to its up time.',
  ),

  target_info: gauge('', SERVICE, 'Is always 1, with labels that identify this Causeway.'),
}

type Catalogue = typeof METRICS
type MetricName = keyof Catalogue

type Settable<Kind> = {
  [Name in MetricName]: Catalogue[Name] extends { kind: Kind; read?: never; exemplars?: never } ? Name : never
}[MetricName]

export type CounterName = Settable<'counter'>
export type GaugeName = Settable<'gauge'>
export type HistogramName = Settable<'histogram'>
export type TracedName = {
  [Name in MetricName]: Catalogue[Name] extends { exemplars: true } ? Name : never
}[MetricName]

/** A value for every label of the metric; nothing at all for one that has none. */
export type LabelsOf<Name extends MetricName> = Catalogue[Name]['labels'] extends readonly []
  ? []
  : [labels: Record<Catalogue[Name]['labels'][number], string>]

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

function systemBytes(): number {
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}
