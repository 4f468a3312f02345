export interface MetricSpec {
  kind: 'counter' | 'gauge' | 'histogram'
  unit: string
  labels: readonly string[]
  /** One sentence for the operator. */
  help: string
  /** Upper bounds of a histogram's buckets, in its unit. */
  buckets?: readonly number[]
  /** Whether its buckets keep exemplars. */
  exemplars?: true
  /** Read when scraped; nothing else sets it. */
  read?: () => number
}

interface Written<Kind, Labels> extends MetricSpec {
  kind: Kind & MetricSpec['kind']
  labels: Labels & readonly string[]
  exemplars?: never
  read?: never
}
interface Traced<Labels> extends MetricSpec {
  kind: 'histogram'
  labels: Labels & readonly string[]
  buckets: readonly number[]
  exemplars: true
  read?: never
}
interface Read extends MetricSpec {
  labels: readonly never[]
  read: () => number
}

const counter = <const Labels extends readonly string[]>(
  unit: string,
  labels: Labels,
  help: string,
): Written<'counter', Labels> => ({ kind: 'counter', unit, labels, help })

const gauge = <const Labels extends readonly string[]>(
  unit: string,
  labels: Labels,
  help: string,
): Written<'gauge', Labels> => ({ kind: 'gauge', unit, labels, help })

const histogram = (unit: string, buckets: number[], help: string): Written<'histogram', []> => ({
  kind: 'histogram',
  unit,
  labels: [],
  help,
  buckets,
})

const histogramWithExemplars = <const Labels extends readonly string[]>(
  labels: Labels,
  buckets: number[],
  help: string,
): Traced<Labels> => ({ kind: 'histogram', unit: 'seconds', labels, help, buckets, exemplars: true })

const readWhenScraped = (
  kind: 'counter' | 'gauge',
  unit: string,
  help: string,
  read: () => number,
): Read => ({
  kind,
  unit,
  labels: [],
  help,
  read,
})

const FLOW = ['flow'] as const

/** Fairness between senders. */
const FLOW_METRICS = {
  cpid_flow_waiting_requests: gauge(
    'requests',
    FLOW,
    'Requests of one sender that are being taken in: what it may have while others wait is limited.',
  ),
  cpid_flow_waiting_bytes: gauge('bytes', FLOW, 'Bytes of one sender that are being taken in.'),
  cpid_flow_refused_requests: counter(
    'requests',
    FLOW,
    'Requests of one sender turned away for now, because it crowded out others.',
  ),
  cpid_flow_limit_requests: gauge(
    'requests',
    [],
    'Most requests that one sender may have waiting beside others.',
  ),
  cpid_flow_limit_bytes: gauge('bytes', [], 'Most bytes that one sender may have waiting beside others.'),
}

const CLUSTER = ['cluster'] as const

/** Inference. */
const CLUSTER_METRICS = {
  cpid_inferred_writes: counter(
    'writes',
    ['cluster', 'cause'],
    'Writes of observed clusters that were decided: of operators, begun by a controller itself, with an exact cause, with an inferred one.',
  ),
  cpid_inference_unchanged: counter(
    'writes',
    CLUSTER,
    'Versions and requests that were known already, or changed only a heartbeat.',
  ),
  cpid_inference_gaps: counter('writes', CLUSTER, 'Writes that follow versions which were not observed.'),
  cpid_inference_unmatched_admissions: counter(
    'requests',
    CLUSTER,
    'Requests that made no write that is known: refused after `k8s_admission` told of them, or their version was not seen, or an audit log without answers does not name what they made.',
  ),
  cpid_inferred_events: counter('events', CLUSTER, 'Events told as log records of their object’s cascade.'),
  cpid_inference_waiting: gauge(
    'items',
    [],
    'Writes and Events of observed clusters that are not decided yet.',
  ),
}

const OBSERVING_RECEIVER = ['receiver'] as const

/** Receivers that watch clusters. */
const OBSERVING_METRICS = {
  cpid_observations: counter(
    'observations',
    OBSERVING_RECEIVER,
    'Versions, requests and Events of clusters that a receiver observed and that are stored.',
  ),
  cpid_observations_skipped: counter(
    'observations',
    ['receiver', 'reason'],
    'Records that a receiver read and skipped, since they describe no write.',
  ),
  cpid_observations_unreadable: counter(
    'items',
    OBSERVING_RECEIVER,
    'Audit log lines, objects, Events and reviews that could not be read and were skipped.',
  ),
  cpid_observations_lost: counter(
    'observations',
    OBSERVING_RECEIVER,
    'Admission requests that could not be stored in time: they were allowed all the same, and their writes may show no user.',
  ),
  cpid_audit_log_lag_bytes: gauge(
    'bytes',
    OBSERVING_RECEIVER,
    'Bytes of the audit log that are not stored yet.',
  ),
  cpid_watches: counter(
    'watches',
    OBSERVING_RECEIVER,
    'Watch requests begun: each lasts some minutes, and the next one resumes.',
  ),
  cpid_relists: counter(
    'lists',
    OBSERVING_RECEIVER,
    'Resources relisted, since their watch was interrupted for longer than the API server keeps versions.',
  ),
  cpid_refused_resources: gauge(
    'resources',
    OBSERVING_RECEIVER,
    'Resources that may not be listed or watched, and of which nothing is seen.',
  ),
}

const RECEIVER = ['receiver', 'transport'] as const
const REFUSED = ['receiver', 'transport', 'reason'] as const
const EXPORTER = ['exporter'] as const
const QUEUE = ['exporter', 'data_type'] as const
const SERVICE = ['service_name', 'service_version', 'service_instance_id'] as const

/** Every metric there is. Names are as an operator sees them, and once released never change. */
export const METRICS = {
  otelcol_receiver_accepted_spans: counter('spans', RECEIVER, 'Spans received and stored.'),
  otelcol_receiver_refused_spans: counter(
    'spans',
    RECEIVER,
    'Spans turned away: refused one by one for good, or the whole request for now.',
  ),
  otelcol_receiver_failed_spans: counter(
    'spans',
    RECEIVER,
    'Spans not stored because of a fault in Causeway.',
  ),
  otelcol_receiver_accepted_log_records: counter('records', RECEIVER, 'Log records received and stored.'),
  otelcol_receiver_refused_log_records: counter(
    'records',
    RECEIVER,
    'Log records turned away: refused one by one for good, or the whole request for now.',
  ),
  otelcol_receiver_failed_log_records: counter(
    'records',
    RECEIVER,
    'Log records not stored because of a fault in Causeway.',
  ),
  otelcol_receiver_accepted_metric_points: counter('points', RECEIVER, 'Data points received and stored.'),
  otelcol_receiver_refused_metric_points: counter(
    'points',
    RECEIVER,
    'Data points turned away: refused one by one for good, or the whole request for now.',
  ),
  otelcol_receiver_failed_metric_points: counter(
    'points',
    RECEIVER,
    'Data points not stored because of a fault in Causeway.',
  ),
  otelcol_exporter_sent_spans: counter('spans', EXPORTER, 'Spans the backend took.'),
  otelcol_exporter_send_failed_spans: counter(
    'spans',
    EXPORTER,
    'Spans passed over because the backend refused them for good.',
  ),
  otelcol_exporter_sent_log_records: counter('records', EXPORTER, 'Log records the backend took.'),
  otelcol_exporter_send_failed_log_records: counter(
    'records',
    EXPORTER,
    'Log records passed over because the backend refused them for good.',
  ),
  otelcol_exporter_sent_metric_points: counter('points', EXPORTER, 'Metric points the backend took.'),
  otelcol_exporter_send_failed_metric_points: counter(
    'points',
    EXPORTER,
    'Metric points the backend refused, or did not take before newer ones were due.',
  ),
  otelcol_exporter_queue_size: gauge('decisions', QUEUE, 'Outbox rows not yet sent to the backend.'),
  otelcol_exporter_in_flight_requests: gauge(
    'requests',
    QUEUE,
    'Export requests the backend has not answered yet.',
  ),
  otelcol_process_uptime: readWhenScraped(
    'counter',
    'seconds',
    'How long the process has been running.',
    () => process.uptime(),
  ),
  otelcol_process_cpu_seconds: readWhenScraped(
    'counter',
    'seconds',
    'Processor time spent in user and system mode.',
    cpuSeconds,
  ),
  otelcol_process_memory_rss: readWhenScraped('gauge', 'bytes', 'Physical memory in use.', () =>
    process.memoryUsage.rss(),
  ),
  otelcol_process_runtime_heap_alloc_bytes: readWhenScraped(
    'gauge',
    'bytes',
    'JavaScript heap in use.',
    () => process.memoryUsage().heapUsed,
  ),
  otelcol_process_runtime_total_sys_memory_bytes: readWhenScraped(
    'gauge',
    'bytes',
    'Memory the JavaScript runtime obtained from the system.',
    systemBytes,
  ),

  cpid_cascade_duration: histogramWithExemplars(
    [],
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800],
    'From first to last activity of each cascade that settled in cascade mode, over all its traces; what begins after its root has settled is one of its own.',
  ),
  cpid_hop_latency: histogramWithExemplars(
    ['service', 'kind'],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    'From the end of a write to the start of the first reconcile of a service that observed it, in cascade mode.',
  ),
  cpid_merges: counter('merges', [], 'Mergelogs accepted that derive a change from one or more others.'),
  ...FLOW_METRICS,
  cpid_refused_requests: counter(
    'requests',
    REFUSED,
    'Requests turned away for now, because too little was left: of memory, of room in_flight, of room for their flow, or of time.',
  ),
  cpid_in_flight_bytes: gauge('bytes', [], 'Bytes of requests being read and stored.'),
  cpid_in_flight_limit_bytes: gauge('bytes', [], 'Limit of cpid_in_flight_bytes.'),
  cpid_connections: gauge(
    'connections',
    RECEIVER,
    'Connections open now, to each port: of a receiver, the query API, metrics and health check.',
  ),
  cpid_connections_limit: gauge('connections', RECEIVER, 'Limit of cpid_connections.'),
  cpid_dropped_connections: counter(
    'connections',
    REFUSED,
    'Connections closed, and requests refused, because there were too many: at their limit, of one address, or of a stranger without a credential.',
  ),
  cpid_unread_answers: counter(
    'answers',
    RECEIVER,
    'Answers ended because nobody read them, for a while or while others needed the memory.',
  ),
  cpid_memory_used_bytes: gauge(
    'bytes',
    [],
    'What the memory limiter counts: resident memory, on Linux without the files mapped into it.',
  ),
  cpid_memory_limit_bytes: gauge('bytes', [], 'The hard limit of the memory limiter.'),
  cpid_memory_soft_limit_bytes: gauge(
    'bytes',
    [],
    'The soft limit of the memory limiter, from which on requests are refused.',
  ),
  cpid_memory_refusing: gauge(
    'state',
    [],
    'Is 1 while requests are refused because memory is short, else 0.',
  ),

  cpid_unauthenticated_requests: counter(
    'requests',
    RECEIVER,
    'Requests turned away because they showed no credential that is known.',
  ),
  cpid_mergelogs: counter('mergelogs', [], 'Mergelogs accepted that said something new.'),
  cpid_mergelogs_refused: counter('mergelogs', ['reason'], 'Mergelogs refused, by reason.'),
  cpid_forbidden_items: counter(
    'items',
    ['item'],
    'Spans, log records and data points refused because their sender may not send them.',
  ),
  cpid_pod_points_left_out: counter(
    'points',
    [],
    'Measurements of Pods that were sent on but are in no answer, because too many waited to be matched with changes.',
  ),
  cpid_filter_spans_dropped: counter(
    'spans',
    [],
    'Filter spans of Kubernetes API servers that were dropped, as filter_spans has it.',
  ),
  cpid_mergelogs_repeated: counter('mergelogs', [], 'Mergelogs identical to one already stored.'),
  cpid_requests_repeated: counter(
    'requests',
    [],
    'Requests that had been stored before and were answered again.',
  ),
  cpid_late_mergelogs: counter('mergelogs', [], 'Mergelogs that came after spans had left without them.'),
  cpid_late_parents: counter(
    'spans',
    [],
    'Parent spans that came after their children had left without them.',
  ),
  cpid_unattributed_spans: counter(
    'spans',
    [],
    'Spans that belong to no change and are forwarded unchanged.',
  ),
  cpid_unattributed_log_records: counter(
    'records',
    [],
    'Log records sent on that belong to no change and are forwarded unchanged.',
  ),
  cpid_malformed_cpids: counter('spans', [], 'Spans and log records whose cpid.id is not a UUID.'),
  cpid_duplicate_spans: counter(
    'spans',
    [],
    'Spans sent again: the same span, however it is batched and encoded, was stored before, and counts.',
  ),
  cpid_duplicate_log_records: counter(
    'records',
    [],
    'Log records sent again: the same record, however it is batched and encoded, was stored before, and counts.',
  ),
  cpid_cut_roots: counter(
    'roots',
    [],
    'Open roots left out because a change descends from more than max_fanout.',
  ),
  cpid_left_out_spans: counter('spans', [], 'Back links and late parents left out of traces that are full.'),
  cpid_beyond_share_spans: counter('spans', [], 'Spans of other clusters beyond their share of a trace.'),
  cpid_own_id_spans: counter(
    'spans',
    [],
    'Spans left out of a trace because they have the id of one of its change spans, or were added by a Causeway.',
  ),
  cpid_traces_open: gauge('traces', [], 'Traces that still take activity.'),
  cpid_traces_settled: counter('traces', [], 'Traces that settled.'),
  cpid_episodes: counter('episodes', [], 'Episodes opened after every root of some activity had settled.'),
  cpid_waiting: gauge(
    'items',
    [],
    'Spans, log records and mergelogs waiting for something that has not arrived.',
  ),
  cpid_link_lag: gauge('items', [], 'Arrivals stored but not linked yet.'),
  cpid_set_aside: counter(
    'items',
    ['stage'],
    'What could not be linked, settled, sent, pruned or inferred because of a fault in Causeway or a lost row, passed over so that all else goes on.',
  ),
  cpid_set_aside_items: gauge('items', [], 'Rows of audit_set_aside: the newest thousand of a week.'),
  ...CLUSTER_METRICS,
  ...OBSERVING_METRICS,
  cpid_graph_cpids: gauge('cpids', [], 'CPIDs in the merge graph.'),
  cpid_graph_held_cpids: gauge(
    'cpids',
    [],
    'CPIDs that retention has come to but keeps: open, waiting or not sent by every exporter.',
  ),
  cpid_graph_tombstones: gauge('cpids', [], 'Pruned CPIDs still remembered by name.'),
  cpid_pruned_cpids: counter('cpids', [], 'CPIDs pruned to stay within retention.'),
  cpid_pruned_spans: counter('spans', [], 'Spans pruned to stay within retention.'),
  cpid_pruned_unsettled: counter(
    'traces',
    [],
    'Open or not fully sent cascades pruned because max_bytes forced it.',
  ),
  cpid_pruned_unsent_items: counter(
    'items',
    [],
    'Spans and log records without a CPID pruned by max_bytes before they were linked and sent.',
  ),
  cpid_storage_wal_bytes: gauge(
    'bytes',
    [],
    'Length of the write-ahead log; it grows while some program reads the database without an end.',
  ),
  cpid_checkpoint_thread_ends: counter(
    'ends',
    [],
    'Times the thread that moves the write-ahead log into the database ended by itself; another followed.',
  ),
  cpid_storage_free_bytes: gauge('bytes', [], 'Free on the disk of the database.'),
  cpid_storage_fault: gauge(
    'faults',
    ['kind'],
    'One while the database cannot be used, by what is wrong with it.',
  ),
  cpid_storage_used_bytes: gauge('bytes', [], 'Database pages in use.'),
  cpid_commit_duration: histogram(
    'seconds',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    'How long a commit of received data took.',
  ),
  cpid_commits: counter('commits', [], 'Commits of received data.'),
  cpid_archived_rows: counter('rows', ['exporter'], 'Rows that an archive took.'),
  cpid_unarchived_rows: counter(
    'rows',
    ['exporter'],
    'Rows that no archive can take, and refused mergelogs that were dropped before it took them.',
  ),
  cpid_archive_losses: counter(
    'losses',
    ['exporter'],
    'How often an archive was found to lack what had been written to it: it was dropped, or is an older copy.',
  ),
  cpid_exporter_lag: gauge(
    'seconds',
    QUEUE,
    'How long the backend has taken nothing while decisions wait for it; 0 when none does.',
  ),
  cpid_clock_leaps: counter('leaps', [], 'Leaps of the clock of this machine against up time.'),

  target_info: gauge('', SERVICE, 'Always 1; its labels say which Causeway this is.'),
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
