import type { Cpid, CpidPrefix } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'
import type { OutboxItem, ScopeEnvelopes } from './outbox.ts'
import type { InferredWrite } from './seen-write.ts'
import type { UnixNanos } from './time-and-size.ts'

/** Why nothing is known about a CPID: it was never seen, or was pruned. */
export type Absent = 'unknown' | 'pruned'

/** The text of a column; undefined for NULL and ''. */
export function textOrNone(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}

/** The position of an item in its list, from which the list can be continued. */
export type Position = readonly bigint[]

/** An item of a list that can be read page by page. */
export interface ListItem {
  readonly position: Position
}

/**
 * A list, read in pages of bounded size; after an empty page there may be more. No read transaction is held between pages, so a slow client
 * blocks nothing. Changes between two pages may or may not show.
 */
export type Pages<T> = Iterable<readonly T[]>

export interface CpidFacts {
  readonly cpid: Cpid
  /** Undefined while its mergelog is missing, as is `sources`. */
  readonly timeNs: UnixNanos | undefined
  readonly sources: readonly Cpid[] | undefined
  readonly explained: boolean
  /** The sender of its mergelog. */
  readonly service: string | undefined
  readonly object: string | undefined
}

export interface MergelogFacts extends ListItem {
  readonly cpid: Cpid
  readonly sources: readonly Cpid[]
  readonly timeNs: UnixNanos
  readonly service: string | undefined
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
}

/** A span or log record as it was received. */
export interface StoredRecord extends ListItem {
  readonly scope: number
  readonly raw: Buffer
}

/** The facts about the cascade of a root: of its main trace and all episodes. */
export interface CascadeFacts extends ListItem {
  readonly root: Cpid
  /** The id of its first trace. */
  readonly traceId: Buffer
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly traces: number
  readonly spans: number
  /** The spans with an error status among them. */
  readonly failed: number
  readonly services: number
  readonly merges: number
  /** CPIDs without a mergelog: in open traces now, in settled traces when they settled. */
  readonly missing: number
  readonly truncated: boolean
  /** Whether a sender gave impossible times, which start and end leave out. */
  readonly clockSkew: boolean
  /** The object in the root's mergelog, and the service that made the change: as the mergelog says, or else its sender. */
  readonly object: string | undefined
  readonly service: string | undefined
  /** The user (or the service) who made the write with which it began; only known for observed clusters. */
  readonly actor: string | undefined
  /** Writes before which versions were missed. */
  readonly gaps: number
  /** The least number of missed versions. */
  readonly missedVersions: number
  /** The cluster in the root's mergelog. */
  readonly cluster: string | undefined
  readonly reason: string | undefined
  /** The change that overwrote it before any controller acted on it. */
  readonly supersededBy: Cpid | undefined
}

export interface CascadeFilter {
  readonly state?: 'open' | 'settled' | undefined
  /** `self`: a controller began it by itself, by the reason of its root. `operator`: all others. */
  readonly cause?: 'operator' | 'self' | undefined
  /** The object in the root's mergelog: a reference, or whole parts of one between `/`, such as its name or its beginning. */
  readonly object?: string | undefined
  /** A service that began the cascade or has spans in it. */
  readonly service?: string | undefined
  /** The cluster in which it began. */
  readonly cluster?: string | undefined
  /** A user who made a write in it, or a service. */
  readonly actor?: string | undefined
  /** A namespace in which it wrote, or that of the object it began with. */
  readonly namespace?: string | undefined
  /** Only cascades with activity in this time range; both ends are inclusive. */
  readonly fromNs?: UnixNanos | undefined
  readonly toNs?: UnixNanos | undefined
}

/** One outgoing trace of a cascade. */
export interface TraceFacts {
  readonly id: number
  readonly traceId: Buffer
  /** 0 is the main trace. */
  readonly episode: number
  /** If it continues full traces of its cascade: the id of the first of these; otherwise its own. */
  readonly cascade: number
  /** The number of spans sent into it, including those that Causeway added. */
  readonly spans: number
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  /** Increases whenever something is sent into the trace. */
  readonly lastDecision: number
}

/** A time range: only traces with activity in it. */
export interface SentTraceRange {
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
}

/** A trace as it was sent. */
export interface SentTrace {
  readonly traceId: Buffer
  /** Everything that was sent into it, in order. */
  items(): Pages<OutboxItem>
}

/** A sent span, as a range of a buffer that holds many. */
export interface SentSpan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** The id of its scope. */
  readonly scope: number
  /** The id of the trace into which it was sent; 0 for its original trace. */
  readonly trace: number
}

/**
 * A condition that at least one span of every wanted trace meets. A store may use it to skip traces, but may also return traces that are
 * not wanted.
 */
export type SpanHint =
  | { readonly kind: 'and' | 'or'; readonly of: readonly SpanHint[] }
  /** The bytes of the span contain this string, from an attribute, an event or a link. */
  | { readonly kind: 'holds'; readonly text: string }
  | { readonly kind: 'name'; readonly value: string }
  | { readonly kind: 'service'; readonly value: string }
  /** `accepts` is true for the name of the span, or for its service. */
  | { readonly kind: 'names'; readonly accepts: (text: string) => boolean }
  | { readonly kind: 'services'; readonly accepts: (text: string) => boolean }
  /** A number of OTLP's enum. */
  | { readonly kind: 'kind' | 'status'; readonly value: number }
  | { readonly kind: 'duration'; readonly operator: '=' | '>' | '>=' | '<' | '<='; readonly value: bigint }
  /** The bytes of its resource, or its scope, contain this string. */
  | { readonly kind: 'resource' | 'scope'; readonly text: string }

/** Whether the stored span at [start, end) may meet a condition; like a hint, it has no false negatives. `scope` is the id of its scope. */
export type SpanTest = (bytes: Buffer, start: number, end: number, scope: number) => boolean

/** A span as it was sent into a trace. */
export interface LinkedSpan {
  /** The decision that sent it; for a span that is still being placed, minus its row. */
  readonly decision: number
  readonly spanId: bigint
  /** 0n for the root span of the trace. */
  readonly parentId: bigint
  readonly name: string
  readonly service: string
  /** The `k8s.cluster.name` of its resource. */
  readonly cluster?: string | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly cpid: Cpid | undefined
  /** A number of OTLP's enum. */
  readonly kind: number
  readonly status: number
  /** The row of the stored span; undefined if Causeway added it. */
  readonly row: number | undefined
  /** Whether it was also sent into another trace. */
  readonly copy: boolean
  /** Whether the root of the trace drives it; otherwise it is shown but not counted. */
  readonly activity: boolean
  /** Whether its parent, from another original trace, is there because it wrote what this span observed. */
  readonly byCause: boolean
  /** Whether it still waits for what decides its parent. It was not sent yet. */
  readonly beingPlaced?: boolean | undefined
  /** Its parent in the cascade, if that is in another trace. */
  readonly above?: CrossTraceSpan | undefined
  /** `cpid.time` of a span that Causeway added: the real time of the change, if the span has another time. */
  readonly time?: string | undefined
  /** The object references in the span, as sent. */
  readonly observed: readonly string[]
  readonly wrote: readonly string[]
  /** What it says about an observed write. */
  readonly seen?: InferredWrite | undefined
  /** The owner of the object that it wrote, and which fields the write changed, in words. */
  readonly owner?: string
  readonly changed?: readonly string[]
  /** The change that superseded the span's own change. */
  readonly supersededBy?: Cpid
}

/** A span in another trace of the cascade: a received one by row, one that Causeway added by id. */
export interface CrossTraceSpan {
  readonly trace: number
  readonly row?: number
  readonly spanId?: bigint
  /** When the write that the span waited for ended; undefined if the parent is not its cause. */
  readonly endNs?: UnixNanos
}

/** A node in the merge graph around a CPID. */
export interface GraphNode {
  readonly cpid: Cpid
  /** Undefined while its mergelog is missing. */
  readonly timeNs: UnixNanos | undefined
  readonly service: string | undefined
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
  /** Whether it has no sources. */
  readonly root: boolean
  readonly explained: boolean
  /** The distance from the center; negative for ancestors. */
  readonly distance: number
  /** For a root: the change that superseded it. */
  readonly supersededBy?: Cpid | undefined
}

export interface GraphAround {
  /** The center first, then by distance. */
  readonly nodes: readonly GraphNode[]
  /** Edges between the nodes. */
  readonly edges: Pages<{ readonly source: Cpid; readonly target: Cpid }>
  /** Whether there are more nodes than the limit. */
  readonly truncated: boolean
}

/** The most values of a filter that are listed. */
export const MOST_FACETS = 200

/** The values to choose from in filters. */
export interface Facets {
  readonly services: readonly string[]
  readonly clusters: readonly string[]
  readonly actors: readonly string[]
  readonly namespaces: readonly string[]
  /** `<apiVersion>/<resource>` */
  readonly kinds: readonly string[]
}

/** Limits of an answer: bytes of stored spans, log records and envelopes that it reads, and CPIDs of a walk down the merge graph. */
export interface ReadAllowance {
  readonly bytes: number
  readonly cpids: number
}

/** The questions about stored data. Synchronous; never writes. */
export interface CausewayQueries {
  /** The total bytes of stored spans, log records and envelopes that were read. Making an answer holds those of a page in memory. */
  readonly bytesRead: number
  /** From now on, throws TooMuchRead if an answer exceeds the limits. */
  allow(allowance: ReadAllowance): void
  cpid(cpid: Cpid): CpidFacts | Absent
  /** The CPIDs with this prefix, in order, at most `limit`; pruned ones too, while their tombstone exists. */
  cpidsBeginning(prefix: CpidPrefix, limit: number): readonly Cpid[]
  /** The CPID itself, then its descendants by mergelog time; those without a mergelog by first sighting. */
  related(cpid: Cpid): Pages<Cpid> | Absent
  /** Its ancestors without the CPID itself, nearest first, then by mergelog time. */
  ancestors(cpid: Cpid): Pages<Cpid> | Absent
  /** The roots among the CPID and its ancestors, in the order of `ancestors`. */
  roots(cpid: Cpid): Pages<Cpid> | Absent
  /** Mergelogs of the CPIDs related to this one, in the order of `related`. Positions have three parts. */
  mergelogsOf(cpid: Cpid, after: Position | undefined): Pages<MergelogFacts> | Absent
  /** All mergelogs, oldest first. Positions have two parts. */
  mergelogs(after: Position | undefined): Pages<MergelogFacts>
  /** Spans of the CPIDs related to this one, by first sighting of the CPID. Positions have four parts. */
  spansOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent
  /** Log records of the CPIDs related to this one, by first sighting of the CPID. Positions have two parts. */
  logsOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent
  /** All spans, including those without a CPID, in order of arrival. Positions have one part. */
  spans(after: Position | undefined): Pages<StoredRecord>
  /** All log records, in order of arrival. Positions have one part. */
  logs(after: Position | undefined): Pages<StoredRecord>
  /** The resource and scope with this scope id. */
  envelopes(scope: number): ScopeEnvelopes | undefined
  /** The resources and scopes of everything that is stored. */
  allEnvelopes(): Pages<ScopeEnvelopes>

  /** Newest first. Positions have one part. */
  cascades(filter: CascadeFilter, after: Position | undefined): Pages<CascadeFacts>
  /** The cascades of these roots that meet a filter, newest first. Positions as in `cascades`. */
  cascadesAmong(
    roots: readonly Cpid[],
    after: Position | undefined,
    filter?: CascadeFilter,
  ): Pages<CascadeFacts>
  /** The cascades in which the CPID takes part. */
  cascadesOf(cpid: Cpid): CascadesOfCpid | Absent
  /** Returns 'unknown' also for a CPID that is not the root of a cascade. */
  cascade(root: Cpid): CascadeFacts | Absent
  /** The traces of a cascade, the main one first. */
  tracesOf(root: Cpid): readonly TraceFacts[]
  /** CPIDs of a cascade whose mergelog has not arrived yet, at most `limit`. */
  missingIn(root: Cpid, limit: number): readonly Cpid[]
  /** The mergelogs of a cascade's CPIDs, ordered by time, at most `limit`. */
  mergelogsIn(root: Cpid, limit: number): readonly MergelogFacts[]
  /** The spans of a trace in the order in which they were sent, then those that are still being placed. */
  linkedSpans(trace: number): readonly LinkedSpan[]
  /** The spans of these decisions, in the same order. */
  linkedSpansOf(decisions: readonly number[]): readonly LinkedSpan[]
  /** The rows of the spans that are still being placed in a trace. */
  beingPlacedIn(trace: number): readonly number[]
  /** Spans with this id that were sent into a trace. */
  sentSpans(trace: number, spanId: bigint): readonly OutboxItem[]
  /** What was sent under a trace id, of an outgoing or an original trace; undefined if nothing was. */
  traceSent(traceId: Buffer): Pages<OutboxItem> | undefined
  /** Sent traces, newest first: those made of cascades, and those passed through. */
  tracesOfCascades(range: SentTraceRange, hint?: SpanHint, test?: SpanTest): Pages<SentTrace>
  tracesForwarded(range: SentTraceRange, hint?: SpanHint, test?: SpanTest): Pages<SentTrace>
  /**
   * Sent spans as they were stored, without the changes made on sending; once for each trace into which they were sent. Spans that start
   * outside the range, or do not meet the hint, may be left out.
   */
  spansSent(range: SentTraceRange, hint?: SpanHint): Pages<SentSpan>
  /** The id of an outgoing trace. */
  traceId(trace: number): Buffer | undefined

  /** The merge graph around a CPID, up to `limit` nodes. */
  graph(cpid: Cpid, limit: number): GraphAround | Absent
  /**
   * Events of objects, newest arrival first. `ref` as in CascadeFilter.object. Positions have two parts. The first page holds at most
   * `first`.
   */
  objects(ref: string, after: Position | undefined, first?: number): Pages<ObjectActivity>
  /** Versions of objects that were written, the highest first. `ref` and `first` as in `objects`. Positions have three parts. */
  objectVersions(ref: string, after: Position | undefined, first?: number): Pages<ObjectVersionFacts>
  /** Objects whose reference contains the text, ignoring case, newest first; whole references without query. */
  objectsNamed(text: string): Pages<string>
  /** The roots of the cascades of a trace id, newest first: it may be the id of an outgoing trace, or of a sender's trace. */
  rootsOfTrace(traceId: Buffer): Pages<Cpid>
  facets(): Facets
  /** The metrics of the Pods that a cascade wrote, for at most `limit` Pods. */
  podStats(root: Cpid, limit: number): PodStatsFound
}

/** The points of a metric of a Pod, or of a container in it, ordered by time. */
export interface PodSeriesFacts {
  /** `PodMetric.id`. */
  readonly metric: number
  /** '' for the Pod itself. */
  readonly container: string
  readonly points: readonly { readonly seconds: number; readonly value: number }[]
}

export interface PodStats {
  readonly object: string
  readonly uid: string
  readonly cluster: string
  readonly series: readonly PodSeriesFacts[]
}

export interface PodStatsFound {
  readonly pods: readonly PodStats[]
  /** The number of further Pods. */
  readonly leftOut: number
}

/** The roots of a CPID's cascades: first those that drive it, then those passed on with it; each newest first. */
export interface CascadesOfCpid {
  readonly cascades: readonly Cpid[]
  /** The first part of `cascades`. Empty until something of the CPID has been linked. */
  readonly drivenBy: readonly Cpid[]
}

/** An event of an object: a span read or wrote it, or a mergelog named it. Only its first few cascades are given. */
export interface ObjectActivity extends ListItem, CascadesOfCpid {
  /** The object reference, with uid and resourceVersion if they were sent. */
  readonly object: string
  readonly action: 'observed' | 'wrote' | 'mergelog'
  readonly cpid: Cpid | undefined
  readonly timeNs: UnixNanos
  readonly service: string | undefined
  readonly cluster: string | undefined
}

/** A version of an object that a span wrote. Only its first few cascades are given. */
export interface ObjectVersionFacts extends ListItem, CascadesOfCpid {
  /** The object reference, with uid and resourceVersion if they were sent. */
  readonly object: string
  /** When the span that wrote it ended. */
  readonly timeNs: UnixNanos
  readonly name: string
  readonly spanId: bigint
  readonly service: string
  readonly cluster: string | undefined
  readonly cpid: Cpid | undefined
  /** The objects that its writer had read: in the span of the write, or in an ancestor span such as a reconcile. */
  readonly observed: readonly string[]
  /** Set if the write was observed. */
  readonly seen: InferredWrite | undefined
  /** The reason in the mergelog of its CPID. */
  readonly reason: string | undefined
  /** Whether its writer sent the mergelog of its CPID, and that says that a change began with this object. */
  readonly begins: boolean
  /** The fields that it changed, in words. */
  readonly changed: readonly string[]
  /** The change that overwrote it before any controller acted on it. */
  readonly supersededBy: Cpid | undefined
}

/** Facts about a service from its newest spans and mergelogs. */
export interface SenderFacts {
  readonly service: string
  readonly spans: number
  /** CPIDs on its spans, and those among them whose mergelog is overdue. */
  readonly cpids: number
  readonly missing: number
  /** Spans with an invalid `cpid.id`. */
  readonly malformed: number
}

/** How far a sender's clock is at least ahead of this machine's, and at most behind it, in milliseconds. */
export interface ClockFacts {
  readonly service: string
  readonly aheadMs: number
  readonly behindMs: number
}

export interface RefusalFacts {
  readonly service: string
  readonly reason: string
  readonly count: number
}

/** How far an exporter of a signal has come. */
export interface ExporterFacts {
  readonly name: string
  readonly signal: Signal
  readonly waiting: number
  readonly refused: number
}

/** Items that were set aside, and the newest reason. */
export interface SetAsideFacts {
  readonly items: number
  readonly time: string
  readonly reason: string
}

/** Reads facts that show whether senders are set up correctly, from the newest arrivals only. */
export interface SenderFactsReader {
  lastArrivalMs(): number | undefined
  /** By service. A mergelog counts as missing if its CPID was first seen before this time. */
  senders(seenBeforeMs: number): SenderFacts[]
  /** By service, from mergelogs, and from spans that arrived between two arrival marks. */
  clocks(nowMs: number): ClockFacts[]
  refusals(sinceMs: number): RefusalFacts[]
  /** Refused items, including mergelogs, and the newest message. */
  rejected(sinceMs: number): { items: number; message: string }
  exporters(): ExporterFacts[]
}

/** How the schema of a database compares with the one this version of Causeway has. */
export type SchemaState = 'current' | 'older' | 'newer'
