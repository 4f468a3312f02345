import type {
  ArchivedActor,
  ArchivedCascade,
  ArchivedChange,
  ArchivedCpid,
  ArchivedFacts,
  ArchivedLog,
  ArchivedMergelog,
  ArchivedObjectEvent,
  ArchivedPlacement,
  ArchivedRefusedItem,
  ArchivedRefusedMergelog,
  ArchivedSpan,
} from '../../model/archive.ts'
import { SPAN_KINDS, SPAN_STATUSES } from '../../model/arrivals.ts'
import { NIL_CPID } from '../../model/merge-graph.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { type BlockColumn, type Rows, rowsOf } from './native-block.ts'

/** Values that every row of a batch shares. */
export interface Writing {
  /** The name of this Causeway. */
  readonly causeway: string
  /** Of several rows of one fact, the one with the highest version counts. */
  readonly version: number
  readonly nowMs: number
  /** Whether to keep the received bytes. */
  readonly raw: boolean
}

type Column<Fact> = BlockColumn<Fact, Writing>

/** A table of the archive: its definition, and the rows of each fact. */
interface ArchiveTable {
  readonly name: string
  readonly columns: readonly { name: string; type: string }[]
  /** The sorting key, which makes two rows the same fact. */
  readonly key: readonly string[]
  readonly indexes: readonly string[]
  /** How many rows one entry of the primary index stands for; ClickHouse's default unless given. */
  readonly granularity: number | undefined
  /** The sharding column: part of the key, so that all versions of a fact are on one shard. */
  readonly shardedBy: string
  rows(facts: ArchivedFacts, at: Writing): Rows
}

interface Described<Fact> {
  name: string
  columns: readonly Column<Fact>[]
  key: readonly string[]
  indexes?: readonly string[]
  granularity?: number
  shardedBy: string
  /** The partition: the month of its time, if plausible. */
  timeMs: (fact: Fact) => number
  isGone?: (fact: Fact) => boolean
  from: (facts: ArchivedFacts) => readonly Fact[]
}

function table<Fact>(described: Described<Fact>): ArchiveTable {
  const { name, key, indexes = [], granularity, shardedBy, timeMs, isGone = () => false, from } = described
  const columns: Column<Fact>[] = [
    ...described.columns,
    { name: 'causeway', type: TEXT, of: (_, at) => at.causeway },
    { name: 'day', type: 'Date', of: (fact, at) => dayOf(timeMs(fact), at.nowMs) },
    { name: 'version', type: 'UInt64', of: (_, at) => at.version },
    { name: 'is_deleted', type: 'UInt8', of: (fact) => (isGone(fact) ? 1 : 0) },
  ]
  return {
    ...{ name, columns, key, indexes, granularity, shardedBy },
    rows: (facts, at) => rowsOf(columns, from(facts), at),
  }
}

const DAY_MS = 86_400_000
const YEAR_MS = 366 * DAY_MS

/** An implausible time would make a partition of its own, so the day of archiving replaces it. */
function dayOf(ms: number, nowMs: number): number {
  const isPlausible = ms > nowMs - 2 * YEAR_MS && ms < nowMs + DAY_MS
  return Math.floor((isPlausible ? ms : nowMs) / DAY_MS)
}

const msOf = (ns: UnixNanos): number => Number(ns / 1_000_000n)

const TEXT = 'LowCardinality(String)'
const TEXTS = 'Array(LowCardinality(String))'
const TEXT_OR_NONE = 'LowCardinality(Nullable(String))'
const NANOS = "DateTime64(9, 'UTC') CODEC(Delta, ZSTD(1))"
const MILLIS = "DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))"
const yesNo = (yes: boolean): string => (yes ? 'yes' : 'no')
const kindOf = (kind: number): string => SPAN_KINDS[kind] ?? 'unspecified'
const statusOf = (status: number): string => SPAN_STATUSES[status] ?? 'unset'

function severityOf(severity: number): string {
  const names = ['unset', 'trace', 'debug', 'info', 'warn', 'error', 'fatal']
  return names[Math.min(6, Math.ceil(severity / 4))] ?? 'unset'
}

/** The columns of a span that several tables share. */
function spanColumns<Fact>(of: (fact: Fact) => ArchivedSpan): Column<Fact>[] {
  const column = (name: string, type: string, value: (span: ArchivedSpan) => unknown): Column<Fact> => ({
    ...{ name, type },
    of: (fact) => value(of(fact)),
  })
  return [
    column('arrival', 'UInt64 CODEC(Delta, ZSTD(1))', ({ arrival }) => arrival),
    column('cpid', 'UUID', ({ cpid }) => cpid ?? NIL_CPID),
    column('span_id', 'UInt64', ({ spanId }) => spanId),
    column('name', TEXT, ({ name }) => name),
    column('service', TEXT_OR_NONE, ({ service }) => service),
    column('cluster', TEXT_OR_NONE, ({ cluster }) => cluster),
    column('start', NANOS, ({ startNs }) => startNs),
    column('end', NANOS, ({ endNs }) => endNs),
    column('kind', TEXT, ({ kind }) => kindOf(kind)),
    column('status', TEXT, ({ status }) => statusOf(status)),
    column('digest', 'UInt64', ({ digest }) => digest),
  ]
}

const spanWithin = { name: 'trace_id', type: 'UUID', of: (span: ArchivedSpan) => span.traceId }
const parent = { name: 'parent_span_id', type: 'UInt64', of: (span: ArchivedSpan) => span.parentId }
const rawSpan = {
  name: 'raw',
  type: 'String CODEC(ZSTD(3))',
  of: (span: ArchivedSpan, { raw }: Writing) => (raw ? span.raw.toString('base64') : ''),
}

const sentColumns = [
  { name: 'service', type: TEXT_OR_NONE, of: (fact: { service: string | null }) => fact.service },
  { name: 'cluster', type: TEXT_OR_NONE, of: (fact: { cluster: string | null }) => fact.cluster },
]

type MergelogOrCpid = Pick<
  ArchivedMergelog,
  'service' | 'cluster' | 'object' | 'objectUid' | 'objectVersion' | 'reason'
>

const mergelogColumns: Column<MergelogOrCpid>[] = [
  ...sentColumns,
  { name: 'object', type: 'Nullable(String)', of: ({ object }) => object },
  { name: 'object_uid', type: 'Nullable(String)', of: ({ objectUid }) => objectUid },
  { name: 'object_version', type: 'Nullable(String)', of: ({ objectVersion }) => objectVersion },
  { name: 'reason', type: 'Nullable(String)', of: ({ reason }) => reason },
]

const inTrace = [
  { name: 'root', type: 'UUID', of: (fact: { root: string }) => fact.root },
  { name: 'episode', type: 'UInt32', of: (fact: { episode: number }) => fact.episode },
]
const trace = {
  name: 'trace_id',
  type: 'UUID',
  of: (fact: { inTrace: string }) => fact.inTrace,
}

interface Edge {
  readonly source: string
  readonly cpid: string
  readonly cluster: string | null
  readonly isGone: boolean
  readonly arrivedMs: number
}

function edgesOf({ mergelogs, removedEdges }: ArchivedFacts): Edge[] {
  return [
    ...removedEdges.map((edge) => ({ ...edge, isGone: true })),
    ...mergelogs.flatMap(({ cpid, sources, cluster, arrivedMs }) =>
      sources.map((source) => ({ source, cpid, cluster, isGone: false, arrivedMs })),
    ),
  ]
}

function kindOfCpid({ timeNs, isRoot }: ArchivedCpid): string {
  if (timeNs === null) return 'unknown'
  return isRoot ? 'root' : 'merge'
}

function waitedMs({ span, causeEndNs }: ArchivedPlacement): number | null {
  return causeEndNs === null ? null : Math.max(0, Number(span.startNs - causeEndNs) / 1e6)
}

interface SpanRow {
  readonly span: ArchivedSpan
  readonly isGone: boolean
}

/** Removes the row that a span had before it got a CPID. */
function spansOf({ spans, attributed }: ArchivedFacts): SpanRow[] {
  return [
    ...spans.map((span) => ({ span, isGone: false })),
    ...attributed.flatMap((span) => [
      { span, isGone: false },
      { span: { ...span, cpid: null }, isGone: true },
    ]),
  ]
}

/** Every table of the archive, except for `otel_traces`. */
export const TABLES: readonly ArchiveTable[] = [
  table<ArchivedCpid>({
    name: 'cpids',
    columns: [
      { name: 'cpid', type: 'UUID', of: ({ cpid }) => cpid },
      { name: 'state', type: TEXT, of: ({ isPruned }) => (isPruned ? 'pruned' : 'live') },
      { name: 'explained', type: TEXT, of: ({ isExplained }) => yesNo(isExplained) },
      { name: 'first_seen', type: MILLIS, of: ({ firstSeenMs }) => firstSeenMs },
      { name: 'kind', type: TEXT, of: kindOfCpid },
      { name: 'merged_at', type: "Nullable(DateTime64(9, 'UTC'))", of: ({ timeNs }) => timeNs },
      ...mergelogColumns,
    ],
    // Pruning writes a row of its own, so that what was known stays.
    key: ['cpid', 'causeway', 'state'],
    shardedBy: 'cpid',
    timeMs: ({ firstSeenMs }) => firstSeenMs,
    from: ({ cpids }) => cpids,
  }),
  table<ArchivedMergelog>({
    name: 'mergelogs',
    columns: [
      { name: 'cpid', type: 'UUID', of: ({ cpid }) => cpid },
      { name: 'time', type: NANOS, of: ({ timeNs }) => timeNs },
      { name: 'arrived', type: MILLIS, of: ({ arrivedMs }) => arrivedMs },
      { name: 'sources', type: 'Array(UUID)', of: ({ sources }) => sources },
      ...mergelogColumns,
    ],
    key: ['cpid'],
    indexes: [
      'INDEX by_object object TYPE bloom_filter GRANULARITY 1',
      'INDEX by_time time TYPE minmax GRANULARITY 1',
    ],
    shardedBy: 'cpid',
    timeMs: ({ arrivedMs }) => arrivedMs,
    from: ({ mergelogs }) => mergelogs,
  }),
  ...['edges', 'edges_by_cpid'].map((name) =>
    table<Edge>({
      name,
      columns: [
        { name: 'source', type: 'UUID', of: ({ source }) => source },
        { name: 'cpid', type: 'UUID', of: ({ cpid }) => cpid },
        { name: 'cluster', type: TEXT_OR_NONE, of: ({ cluster }) => cluster },
      ],
      key: name === 'edges' ? ['source', 'cpid'] : ['cpid', 'source'],
      // One step of a walk looks up thousands of random CPIDs, each in another granule.
      granularity: 1024,
      shardedBy: name === 'edges' ? 'source' : 'cpid',
      timeMs: ({ arrivedMs }) => arrivedMs,
      isGone: ({ isGone }) => isGone,
      from: edgesOf,
    }),
  ),
  table<ArchivedCascade>({
    name: 'cascades',
    columns: [
      ...inTrace,
      { name: 'trace_id', type: 'UUID', of: ({ traceId }) => traceId },
      { name: 'state', type: TEXT, of: ({ isOpen }) => (isOpen ? 'open' : 'settled') },
      { name: 'start', type: NANOS, of: ({ firstNs }) => firstNs },
      { name: 'last_activity', type: NANOS, of: ({ lastNs }) => lastNs },
      { name: 'spans', type: 'UInt32', of: ({ spans }) => spans },
      { name: 'services', type: 'UInt32', of: ({ services }) => services },
      { name: 'merges', type: 'UInt32', of: ({ merges }) => merges },
      { name: 'missing', type: 'UInt32', of: ({ missing }) => missing },
      { name: 'object', type: 'Nullable(String)', of: ({ object }) => object },
      ...sentColumns,
      { name: 'reason', type: 'Nullable(String)', of: ({ reason }) => reason },
      { name: 'truncated', type: TEXT, of: ({ truncated }) => yesNo(truncated) },
      {
        name: 'continues',
        type: 'Nullable(UUID)',
        of: ({ continues }) => continues,
      },
      { name: 'clock_skew', type: TEXT, of: ({ clockSkew }) => yesNo(clockSkew) },
      { name: 'actor', type: TEXT_OR_NONE, of: ({ actor }) => actor },
      { name: 'gaps', type: 'UInt32', of: ({ gaps }) => gaps },
      { name: 'missed_versions', type: 'UInt32', of: ({ missedVersions }) => missedVersions },
      { name: 'failed', type: 'UInt32', of: ({ failed }) => failed },
      { name: 'doubtful_times', type: TEXT, of: ({ hasDoubtfulTimes }) => yesNo(hasDoubtfulTimes) },
      { name: 'reference', type: 'Nullable(String)', of: ({ reference }) => reference },
      { name: 'began_by', type: TEXT_OR_NONE, of: ({ beganBy }) => beganBy },
      { name: 'service_names', type: TEXTS, of: ({ serviceNames }) => serviceNames },
      { name: 'actors', type: TEXTS, of: ({ actors }) => actors },
      { name: 'namespaces', type: TEXTS, of: ({ namespaces }) => namespaces },
    ],
    key: ['root', 'episode', 'causeway'],
    indexes: [
      'INDEX by_start start TYPE minmax GRANULARITY 1',
      'INDEX by_object object TYPE bloom_filter GRANULARITY 1',
    ],
    shardedBy: 'root',
    timeMs: ({ firstNs }) => msOf(firstNs),
    isGone: ({ isGone }) => isGone,
    from: ({ cascades }) => cascades,
  }),
  table<ArchivedActor>({
    name: 'cascade_actors',
    columns: [
      ...inTrace,
      trace,
      { name: 'actor', type: 'String', of: ({ actor }) => actor },
      { name: 'writes', type: 'UInt32', of: ({ writes }) => writes },
      { name: 'gaps', type: 'UInt32', of: ({ gaps }) => gaps },
      { name: 'began', type: TEXT, of: ({ began }) => yesNo(began) },
      { name: 'cluster', type: TEXT_OR_NONE, of: ({ rootCluster }) => rootCluster },
    ],
    key: ['root', 'episode', 'causeway', 'actor'],
    indexes: ['INDEX by_actor actor TYPE bloom_filter GRANULARITY 1'],
    shardedBy: 'root',
    timeMs: ({ firstNs }) => msOf(firstNs),
    from: ({ actors }) => actors,
  }),
  table<ArchivedChange>({
    name: 'cascade_changes',
    columns: [
      { name: 'cpid', type: 'UUID', of: ({ cpid }) => cpid },
      ...inTrace,
      trace,
      { name: 'drives', type: TEXT, of: ({ drives }) => yesNo(drives) },
      { name: 'cluster', type: TEXT_OR_NONE, of: ({ rootCluster }) => rootCluster },
    ],
    key: ['cpid', 'root', 'episode', 'causeway'],
    indexes: ['INDEX by_root root TYPE bloom_filter GRANULARITY 1'],
    shardedBy: 'cpid',
    timeMs: ({ firstNs }) => msOf(firstNs),
    from: ({ changes }) => changes,
  }),
  table<ArchivedPlacement>({
    name: 'cascade_spans',
    columns: [
      ...inTrace,
      trace,
      ...spanColumns<ArchivedPlacement>(({ span }) => span),
      { name: 'parent_span_id', type: 'UInt64', of: ({ parentId }) => parentId },
      { name: 'waited_ms', type: 'Nullable(Float64)', of: waitedMs },
      { name: 'copy', type: TEXT, of: ({ isCopy }) => yesNo(isCopy) },
      { name: 'actor', type: TEXT_OR_NONE, of: ({ span }) => span.actor },
      { name: 'cause', type: TEXT_OR_NONE, of: ({ span }) => span.cause },
      { name: 'gap', type: TEXT_OR_NONE, of: ({ span }) => (span.gap === null ? null : yesNo(span.gap)) },
      { name: 'activity', type: TEXT, of: ({ isActivity }) => yesNo(isActivity) },
    ],
    key: ['root', 'episode', 'causeway', 'start', 'span_id', 'digest'],
    shardedBy: 'root',
    timeMs: ({ span }) => msOf(span.startNs),
    from: ({ placements }) => placements,
  }),
  table<SpanRow>({
    name: 'spans',
    columns: [
      ...spanColumns<SpanRow>(({ span }) => span),
      ...[spanWithin, parent, rawSpan].map((column) => ({
        ...column,
        of: ({ span }: SpanRow, at: Writing) => column.of(span, at),
      })),
    ],
    key: ['cpid', 'start', 'trace_id', 'span_id', 'digest'],
    indexes: [
      'INDEX by_start start TYPE minmax GRANULARITY 1',
      'INDEX by_trace trace_id TYPE bloom_filter GRANULARITY 1',
    ],
    shardedBy: 'cpid',
    timeMs: ({ span }) => msOf(span.startNs),
    isGone: ({ isGone }) => isGone,
    from: spansOf,
  }),
  table<ArchivedObjectEvent>({
    name: 'object_events',
    columns: [
      { name: 'arrival', type: 'UInt64 CODEC(Delta, ZSTD(1))', of: ({ span }) => span.arrival },
      { name: 'cpid', type: 'UUID', of: ({ span }) => span.cpid ?? NIL_CPID },
      { name: 'object', type: 'String CODEC(ZSTD(1))', of: ({ object }) => object },
      { name: 'cluster', type: TEXT, of: ({ cluster }) => cluster },
      { name: 'action', type: TEXT, of: ({ wrote }) => (wrote ? 'wrote' : 'observed') },
      // Part of the key, so not NULL.
      { name: 'object_version', type: 'Int64', of: ({ version }) => version ?? -1n },
      { name: 'object_uid', type: 'Nullable(String)', of: ({ uid }) => uid },
      { name: 'time', type: NANOS, of: ({ span }) => span.endNs },
      { name: 'start', type: `DateTime64(9, 'UTC') DEFAULT time`, of: ({ span }) => span.startNs },
      { name: 'service', type: TEXT_OR_NONE, of: ({ span }) => span.service },
      { name: 'span', type: TEXT, of: ({ span }) => span.name },
      { name: 'span_id', type: 'UInt64', of: ({ span }) => span.spanId },
      { name: 'trace_id', type: 'UUID', of: ({ span }) => span.traceId },
      { name: 'status', type: TEXT, of: ({ span }) => statusOf(span.status) },
      { name: 'actor', type: TEXT_OR_NONE, of: ({ span }) => span.actor },
      { name: 'cause', type: TEXT_OR_NONE, of: ({ span }) => span.cause },
      { name: 'gap', type: TEXT_OR_NONE, of: ({ span }) => (span.gap === null ? null : yesNo(span.gap)) },
      { name: 'digest', type: 'UInt64', of: ({ span }) => span.digest },
    ],
    key: ['object', 'cluster', 'time', 'action', 'object_version', 'span_id', 'digest'],
    indexes: [
      'INDEX by_cpid cpid TYPE bloom_filter GRANULARITY 1',
      'INDEX by_time time TYPE minmax GRANULARITY 1',
    ],
    shardedBy: 'object',
    timeMs: ({ span }) => msOf(span.endNs),
    from: ({ objectEvents }) => objectEvents,
  }),
  table<ArchivedLog>({
    name: 'logs',
    columns: [
      { name: 'arrival', type: 'UInt64 CODEC(Delta, ZSTD(1))', of: ({ arrival }) => arrival },
      { name: 'cpid', type: 'UUID', of: ({ cpid }) => cpid ?? NIL_CPID },
      { name: 'time', type: NANOS, of: ({ timeNs }) => timeNs },
      { name: 'event_name', type: TEXT, of: ({ eventName }) => eventName },
      { name: 'severity', type: TEXT, of: ({ severity }) => severityOf(severity) },
      ...sentColumns,
      {
        name: 'trace_id',
        type: 'Nullable(UUID)',
        of: ({ traceId }) => traceId,
      },
      { name: 'span_id', type: 'UInt64', of: ({ spanId }) => spanId },
      { name: 'digest', type: 'UInt64', of: ({ digest }) => digest },
      {
        name: 'raw',
        type: 'String CODEC(ZSTD(3))',
        of: (log, { raw }) => (raw ? log.raw.toString('base64') : ''),
      },
    ],
    key: ['cpid', 'time', 'digest'],
    indexes: ['INDEX by_time time TYPE minmax GRANULARITY 1'],
    shardedBy: 'cpid',
    timeMs: ({ timeNs }) => msOf(timeNs),
    from: ({ logs }) => logs,
  }),
  table<ArchivedRefusedMergelog>({
    name: 'refused_mergelogs',
    columns: [
      { name: 'arrived', type: MILLIS, of: ({ arrivedMs }) => arrivedMs },
      { name: 'number', type: 'UInt64', of: ({ number }) => number },
      { name: 'cpid', type: 'String', of: ({ cpid }) => cpid },
      { name: 'sources', type: 'String', of: ({ sources }) => sources },
      { name: 'reason', type: TEXT, of: ({ reason }) => reason },
      ...sentColumns,
      { name: 'sender', type: 'Nullable(String)', of: ({ sender }) => sender },
    ],
    key: ['arrived', 'causeway', 'number'],
    indexes: ['INDEX by_cpid cpid TYPE bloom_filter GRANULARITY 1'],
    shardedBy: 'arrived',
    timeMs: ({ arrivedMs }) => arrivedMs,
    from: ({ refusedMergelogs }) => refusedMergelogs,
  }),
  table<ArchivedRefusedItem>({
    name: 'refused_items',
    columns: [
      { name: 'arrived', type: MILLIS, of: ({ arrivedMs }) => arrivedMs },
      { name: 'number', type: 'UInt64', of: ({ number }) => number },
      { name: 'items', type: 'UInt32', of: ({ items }) => items },
      { name: 'message', type: 'String', of: ({ message }) => message },
    ],
    key: ['arrived', 'causeway', 'number'],
    shardedBy: 'arrived',
    timeMs: ({ arrivedMs }) => arrivedMs,
    from: ({ refusedItems }) => refusedItems,
  }),
]
