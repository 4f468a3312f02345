import type { Cpid, CpidPrefix } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'
import type { OutboxItem, ScopeEnvelopes } from './outbox.ts'
import type { SeenWrite } from './seen-write.ts'
import type { UnixNanos } from './time-and-size.ts'

/** Why there is no answer about a CPID: it was never sighted, or retention removed it. */
export type Absent = 'unknown' | 'pruned'

/** Rows may have an empty text where there is none. */
export function textOrNone(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}

/** Where an item stands in its list; what comes after it can be asked for. */
export type Position = readonly bigint[]

/** One item of a list that can be read in parts. */
export interface ListItem {
  readonly position: Position
}

/**
 * A list, read a bounded page at a time; an empty page means only that there is more to search. No page holds on to
 * the database, so that a slow reader stops nothing: what happens between two pages may or may not be seen.
 */
export type Pages<T> = Iterable<readonly T[]>

export interface CpidFacts {
  readonly cpid: Cpid
  /** Undefined, like `sources`, while its mergelog is missing. */
  readonly timeNs: UnixNanos | undefined
  readonly sources: readonly Cpid[] | undefined
  readonly explained: boolean
  /** Who sent its mergelog. */
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

/** What is known of the cascade of a root CPID: all its traces, the main one and the episodes, taken together. */
export interface CascadeFacts extends ListItem {
  readonly root: Cpid
  /** The trace id of the first of its traces. */
  readonly traceId: Buffer
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly traces: number
  readonly spans: number
  /** Of those, the ones that failed. */
  readonly failed: number
  readonly services: number
  readonly merges: number
  /** CPIDs without a mergelog: those of open traces now, those of settled ones when they settled. */
  readonly missing: number
  readonly truncated: boolean
  /** A sender gave a time that cannot be; it is left out of start and end. */
  readonly clockSkew: boolean
  /** The object of the root's mergelog, and who made the change: as the mergelog says, or else its sender. */
  readonly object: string | undefined
  readonly service: string | undefined
  /** The user who made the write that it begins with, or the service that did; known where a cluster was looked at from outside. */
  readonly actor: string | undefined
  /** Writes before which versions of their objects were not seen. */
  readonly gaps: number
  /** How many versions are likely to be missing there, at least. */
  readonly missedVersions: number
  /** Of the root's mergelog too. */
  readonly cluster: string | undefined
  readonly reason: string | undefined
  /** The change that overwrote it before any controller had acted on it: nothing is left of it. */
  readonly supersededBy: Cpid | undefined
}

export interface CascadeFilter {
  readonly state?: 'open' | 'settled' | undefined
  /** `self`: the reason of its root says that a controller began it by itself. `operator`: all others. */
  readonly cause?: 'operator' | 'self' | undefined
  /** An object reference of the root's mergelog, or whole parts of one between `/`: its name, or its beginning. */
  readonly object?: string | undefined
  /** A service that has spans in the cascade or began it. */
  readonly service?: string | undefined
  /** The cluster of whoever began it. */
  readonly cluster?: string | undefined
  /** A user who wrote something in it, or a service as above. */
  readonly actor?: string | undefined
  /** A namespace into which it wrote, or that of the object it began with. */
  readonly namespace?: string | undefined
  /** Its activity reaches into the time between these, ends included. */
  readonly fromNs?: UnixNanos | undefined
  readonly toNs?: UnixNanos | undefined
}

/** One outgoing trace of a cascade. */
export interface TraceFacts {
  readonly id: number
  readonly traceId: Buffer
  /** 0 is the main trace. */
  readonly episode: number
  /** The first trace of the cascade that it goes on with, because those before it were full; else its own number. */
  readonly cascade: number
  /** How many spans were sent into it, Causeway's own counted. */
  readonly spans: number
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  /** Grows with everything that is sent into the trace. */
  readonly lastDecision: number
}

/** The time of the wanted traces: their activity reaches into the time between these. */
export interface SentTraceRange {
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
}

/** A trace as backends have it. */
export interface SentTrace {
  readonly traceId: Buffer
  /** All that was sent into it, in order. */
  items(): Pages<OutboxItem>
}

/** A span that was sent, in bytes that hold many. */
export interface SentSpan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** The scope in which it came. */
  readonly scope: number
  /** The number of the trace into which it was sent; 0 for its original one. */
  readonly trace: number
}

/**
 * A condition that at least one span of every wanted trace meets. A store may use it to skip traces in which no span meets it. It
 * may also return traces that are not wanted.
 */
export type SpanHint =
  | { readonly kind: 'and' | 'or'; readonly of: readonly SpanHint[] }
  /** Its bytes hold this text: of an attribute, an event or a link. */
  | { readonly kind: 'holds'; readonly text: string }
  | { readonly kind: 'name'; readonly value: string }
  | { readonly kind: 'service'; readonly value: string }
  /** Its name, or that of its service, is one of those that this accepts. */
  | { readonly kind: 'names'; readonly accepts: (text: string) => boolean }
  | { readonly kind: 'services'; readonly accepts: (text: string) => boolean }
  /** OTLP's numbers. */
  | { readonly kind: 'kind' | 'status'; readonly value: number }
  | { readonly kind: 'duration'; readonly operator: '=' | '>' | '>=' | '<' | '<='; readonly value: bigint }
  /** Its resource, or its scope, holds this text. */
  | { readonly kind: 'resource' | 'scope'; readonly text: string }

/**
 * Whether a stored span, from `start` to `end` in bytes that hold many, may meet a condition as a hint does. `scope` is that in which it
 * came.
 */
export type SpanTest = (bytes: Buffer, start: number, end: number, scope: number) => boolean

/** A span as it was sent into a trace. */
export interface LinkedSpan {
  /** The number of the decision that sent it; of one that is being placed, that of the stored span below zero. */
  readonly decision: number
  readonly spanId: bigint
  /** 0n for the root span of the trace. */
  readonly parentId: bigint
  readonly name: string
  readonly service: string
  /** The `k8s.cluster.name` of who sent it. */
  readonly cluster?: string | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly cpid: Cpid | undefined
  /** OTLP's numbers. */
  readonly kind: number
  readonly status: number
  /** The number of the stored span; undefined for one of Causeway's own making. */
  readonly row: number | undefined
  /** The span also stands in another trace. */
  readonly copy: boolean
  /** The root of the trace drives it; else it is shown there and does not count. */
  readonly activity: boolean
  /** Its parent wrote what it observed, and came in another original trace. */
  readonly byCause: boolean
  /** The span has arrived and waits for what decides its place: it was not sent yet, and its parent may change. */
  readonly beingPlaced?: boolean | undefined
  /** Its parent in the cascade, when that is in another trace. */
  readonly above?: CrossTraceSpan | undefined
  /** `cpid.time` of a synthetic span: when the change really happened, though the span has another time. */
  readonly time?: string | undefined
  /** The object references it names, as it wrote them. */
  readonly observed: readonly string[]
  readonly wrote: readonly string[]
  /** What it says of a write that was seen from outside. */
  readonly seen?: SeenWrite | undefined
  /** What owns the object that it wrote, and which fields the write changed, in words; as it says it. */
  readonly owner?: string
  readonly changed?: readonly string[]
  /** The span says that its change was overwritten by this one before anybody acted on it. */
  readonly supersededBy?: Cpid
}

/** A span in another trace of the same cascade: a received one by its row, one of Causeway's own by its id. */
export interface CrossTraceSpan {
  readonly trace: number
  readonly row?: number
  readonly spanId?: bigint
  /** When the write ended that the span waited for; undefined where it is no cause. */
  readonly endNs?: UnixNanos
}

/** A CPID in the merge graph around another one. */
export interface GraphNode {
  readonly cpid: Cpid
  /** Undefined while its mergelog is missing. */
  readonly timeNs: UnixNanos | undefined
  readonly service: string | undefined
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
  /** No edge points to it. */
  readonly root: boolean
  readonly explained: boolean
  /** Steps from the middle, negative for ancestors. */
  readonly distance: number
  /** Of a root, the change that overwrote it before any controller had acted on it. */
  readonly supersededBy?: Cpid | undefined
}

export interface GraphAround {
  /** The middle first, then nearest first. */
  readonly nodes: readonly GraphNode[]
  /** Edges between the nodes. */
  readonly edges: Pages<{ readonly source: Cpid; readonly target: Cpid }>
  /** There are more nodes than were asked for. */
  readonly truncated: boolean
}

/** How many values of a filter are listed at most. */
export const MOST_FACETS = 200

/** What there is to choose from in filters. */
export interface Facets {
  readonly services: readonly string[]
  readonly clusters: readonly string[]
  readonly actors: readonly string[]
  readonly namespaces: readonly string[]
  /** `<apiVersion>/<resource>` */
  readonly kinds: readonly string[]
}

/** What an answer may take: bytes of stored spans, log records and envelopes, and CPIDs of one walk down the merge graph. */
export interface ReadAllowance {
  readonly bytes: number
  readonly cpids: number
}

/** What can be asked of what is stored. Synchronous; reads only. */
export interface CausewayQueries {
  /** How many bytes of stored spans, log records and envelopes were read until now. Whoever makes an answer of a page holds them. */
  readonly bytesRead: number
  /** From here on, throws TooMuchRead where an answer takes more. */
  allow(allowance: ReadAllowance): void
  cpid(cpid: Cpid): CpidFacts | Absent
  /** The CPIDs that begin so, pruned ones that are still remembered too, in the order of their digits, at most `limit`. */
  cpidsBeginning(prefix: CpidPrefix, limit: number): readonly Cpid[]
  /** Itself first, then by mergelog time; those without a mergelog by first sighting. */
  related(cpid: Cpid): Pages<Cpid> | Absent
  /** Without itself, nearest first, then by mergelog time. */
  ancestors(cpid: Cpid): Pages<Cpid> | Absent
  /** The CPIDs among its ancestors and itself that no edge points to, in the order of `ancestors`. */
  roots(cpid: Cpid): Pages<Cpid> | Absent
  /** Mergelogs whose new CPID is related to it, in the order of `related`. Positions have three parts. */
  mergelogsOf(cpid: Cpid, after: Position | undefined): Pages<MergelogFacts> | Absent
  /** All mergelogs, oldest first. Positions have two parts. */
  mergelogs(after: Position | undefined): Pages<MergelogFacts>
  /** Spans of its related CPIDs, first sighted CPID first. Positions have four parts. */
  spansOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent
  /** Log records of its related CPIDs, first sighted CPID first. Positions have two parts. */
  logsOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent
  /** All spans, those without a CPID too, in the order of arrival. Positions have one part. */
  spans(after: Position | undefined): Pages<StoredRecord>
  /** All log records in the order of arrival. Positions have one part. */
  logs(after: Position | undefined): Pages<StoredRecord>
  /** The envelopes in which a record came. */
  envelopes(scope: number): ScopeEnvelopes | undefined
  /** All envelopes that something that is kept came in. */
  allEnvelopes(): Pages<ScopeEnvelopes>

  /** Newest first. Positions have one part. */
  cascades(filter: CascadeFilter, after: Position | undefined): Pages<CascadeFacts>
  /** The cascades of these roots that a filter lets through, newest first. Positions as in `cascades`. */
  cascadesAmong(
    roots: readonly Cpid[],
    after: Position | undefined,
    filter?: CascadeFilter,
  ): Pages<CascadeFacts>
  /** The cascades in which the CPID takes part. */
  cascadesOf(cpid: Cpid): CascadesOfCpid | Absent
  /** `'unknown'` also for a CPID that is not the root of a cascade. */
  cascade(root: Cpid): CascadeFacts | Absent
  /** The traces of a cascade, the main one first. */
  tracesOf(root: Cpid): readonly TraceFacts[]
  /** CPIDs of a cascade whose mergelog has not arrived yet, at most `limit`. */
  missingIn(root: Cpid, limit: number): readonly Cpid[]
  /** The mergelogs of the CPIDs of a cascade by time, at most `limit`. */
  mergelogsIn(root: Cpid, limit: number): readonly MergelogFacts[]
  /** The spans of one trace as linked, in the order in which they were sent; after them those that are being placed. */
  linkedSpans(trace: number): readonly LinkedSpan[]
  /** The linked spans of some decisions, in their order. */
  linkedSpansOf(decisions: readonly number[]): readonly LinkedSpan[]
  /** The numbers of the stored spans that are being placed in a trace. */
  beingPlacedIn(trace: number): readonly number[]
  /** Spans with this id in a trace, as they were sent. */
  sentSpans(trace: number, spanId: bigint): readonly OutboxItem[]
  /** What backends have under a trace id, an outgoing or an original one; undefined where they have nothing. */
  traceSent(traceId: Buffer): Pages<OutboxItem> | undefined
  /** Traces that were sent, of each of these kinds the newest first: made of cascades, and passed on as they came. */
  tracesOfCascades(range: SentTraceRange, hint?: SpanHint, test?: SpanTest): Pages<SentTrace>
  tracesForwarded(range: SentTraceRange, hint?: SpanHint, test?: SpanTest): Pages<SentTrace>
  /**
   * Spans that were sent, once for each trace that they were sent into, as they were stored: without what is changed of a span when it is
   * sent. Some may be left out that did not begin in the range, or of which none meets the hint.
   */
  spansSent(range: SentTraceRange, hint?: SpanHint): Pages<SentSpan>
  /** The id of a trace of a cascade. */
  traceId(trace: number): Buffer | undefined

  /** The merge graph around a CPID, at most `limit` of its nodes. */
  graph(cpid: Cpid, limit: number): GraphAround | Absent
  /**
   * What happened to objects, newest arrival first. `ref` as in CascadeFilter.object. Positions have two parts. The first
   * page holds no more than `first`.
   */
  objects(ref: string, after: Position | undefined, first?: number): Pages<ObjectActivity>
  /** What versions of objects were written, the highest first. `ref` and `first` as in `objects`. Positions have three parts. */
  objectVersions(ref: string, after: Position | undefined, first?: number): Pages<ObjectVersionFacts>
  /** Objects whose reference contains the text, in any case of its letters, newest first; whole references without query. */
  objectsNamed(text: string): Pages<string>
  /** The root of the outgoing trace with this id, and those of the cascades of what a sender sent in a trace with this id, newest first. */
  rootsOfTrace(traceId: Buffer): Pages<Cpid>
  facets(): Facets
  /** What was measured of the Pods that a cascade wrote, of `limit` Pods at most. */
  podStats(root: Cpid, limit: number): PodStatsFound
}

/** Points of one metric of a Pod, or of a container in it, in the order of time. */
export interface PodSeriesFacts {
  /** `PodMetric.id`. */
  readonly metric: number
  /** Empty for the Pod itself. */
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
  /** How many more Pods there are. */
  readonly leftOut: number
}

/** Roots of the cascades in which a CPID takes part: first those that drive it, then those passed on with it, each the newest first. */
export interface CascadesOfCpid {
  readonly cascades: readonly Cpid[]
  /** The first of them; none before something of the CPID was linked. */
  readonly drivenBy: readonly Cpid[]
}

/** What happened to an object once: a span read or wrote it, or a mergelog named it. Its cascades are the first few. */
export interface ObjectActivity extends ListItem, CascadesOfCpid {
  /** The reference, with uid and resourceVersion where they were given. */
  readonly object: string
  readonly action: 'observed' | 'wrote' | 'mergelog'
  readonly cpid: Cpid | undefined
  readonly timeNs: UnixNanos
  readonly service: string | undefined
  readonly cluster: string | undefined
}

/** A version of an object that a span wrote. Its cascades are the first few. */
export interface ObjectVersionFacts extends ListItem, CascadesOfCpid {
  /** The reference, with uid and resourceVersion where they were given. */
  readonly object: string
  /** When the span ended that wrote it. */
  readonly timeNs: UnixNanos
  readonly name: string
  readonly spanId: bigint
  readonly service: string
  readonly cluster: string | undefined
  readonly cpid: Cpid | undefined
  /** The object references that whoever wrote it had read: in the span that wrote, or in one above it, such as a reconcile. */
  readonly observed: readonly string[]
  /** Where the write was seen from outside. */
  readonly seen: SeenWrite | undefined
  /** The reason in the mergelog of its CPID. */
  readonly reason: string | undefined
  /** The mergelog of its CPID says that a change began with this object, and whoever sent that wrote this. */
  readonly begins: boolean
  /** Which fields it changed, in words. */
  readonly changed: readonly string[]
  /** The change that overwrote it before any controller had acted on it. */
  readonly supersededBy: Cpid | undefined
}

/** What the newest spans and mergelogs of a service say about it. */
export interface SenderFacts {
  readonly service: string
  readonly spans: number
  /** CPIDs that its spans carried, and how many of them lack a mergelog although there was time for it. */
  readonly cpids: number
  readonly missing: number
  /** Spans whose `cpid.id` is no CPID. */
  readonly malformed: number
}

/** How far a sender's clock is ahead of this machine's at least, and behind at most, in milliseconds. */
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

/** How far an exporter of one signal has come. */
export interface ExporterFacts {
  readonly name: string
  readonly signal: Signal
  readonly waiting: number
  readonly refused: number
}

/** What was set aside, and the newest reason. */
export interface SetAsideFacts {
  readonly items: number
  readonly time: string
  readonly reason: string
}

/** Reads what shows whether senders are set up well. Looks at the newest arrivals only. */
export interface SenderFactsReader {
  lastArrivalMs(): number | undefined
  /** By service; a CPID counts as missing its mergelog when it was first seen before a time. */
  senders(seenBeforeMs: number): SenderFacts[]
  /** By service, from its mergelogs and from spans that arrived between two marks. */
  clocks(nowMs: number): ClockFacts[]
  refusals(sinceMs: number): RefusalFacts[]
  /** Refused items, mergelogs included, and the newest of their messages. */
  rejected(sinceMs: number): { items: number; message: string }
  exporters(): ExporterFacts[]
}

/** How the schema of a file compares with the one this Causeway knows. */
export type SchemaState = 'current' | 'older' | 'newer'
