import type { Cpid, Mergelog, MergelogRefusal } from './merge-graph.ts'
import type { SeenWrite } from './seen-write.ts'
import type { UnixNanos } from './time-and-size.ts'

/** A mergelog as its sender wrote it; CPIDs are not checked yet. */
export interface MergelogRecord {
  newCpid: string
  sources: string[]
  /** 0n when the sender gave no time. */
  timeNs: UnixNanos
  object: string | undefined
  reason: string | undefined
  /** Who made the change, where the sender tells of another's. */
  writer?: string | undefined
  /** Which attribute that the merge graph rests on is there more than once; the first counts. */
  repeated?: string
}

/** Bits of a stored span. */
export const SPAN_HAS_LINKS = 1
export const SPAN_INHERITED_CPID = 2
/** The span carries a `cpid.id` that is no CPID: it stays unattributed whatever is above it. */
export const SPAN_MALFORMED_CPID = 4

/** The span names objects that it read, or wrote. */
export const SPAN_OBSERVED = 8
export const SPAN_WROTE = 16

/** The span carries no `cpid.id`, and its sender's spans join changes of their own cluster alone: it takes no other CPID from its parent. */
export const SPAN_JOINS_OWN = 32

/** The span reports a write that was seen from outside the cluster: there is a `SeenWrite` of it. */
export const SPAN_SEEN_WRITE = 64

/** The span names the request of an API server that it is part of (`audit-id`), or is a kubelet's and names a Pod (`k8s.pod.uid`). */
export const SPAN_NAMES_REQUEST = 128
export const SPAN_NAMES_POD = 256

/** The span took its CPID from something that it says it belongs to, or from a parent that did: it is no activity. */
export const SPAN_JOINED = 512

/** The writer itself reports with this span a write that was also seen from outside. */
export const SPAN_TOLD_WRITE = 1024

/** A Causeway made the span (`cpid.synthetic`): this one, which is sent what it sends, or one before it. */
export const SPAN_OF_CAUSEWAY = 2048

/** OTLP's kinds and status codes of a span, by number. */
export const SPAN_KINDS: readonly string[] = [
  'unspecified',
  'internal',
  'server',
  'client',
  'producer',
  'consumer',
]
export const SPAN_STATUSES: readonly string[] = ['unset', 'ok', 'error']
export const STATUS_ERROR = 2

/** The fields of a received span that linking and questions need, and the span's own bytes. */
export interface SpanRecord {
  /** The OTLP Span message, a view into the request. */
  raw: Buffer
  /** 16 bytes as a latin1 string, a cheap map key. */
  traceKey: string
  /** 8 bytes read as a signed big-endian integer. */
  spanId: bigint
  /** 0n for none. */
  parentId: bigint
  startNs: UnixNanos
  endNs: UnixNanos
  name: string
  kind: number
  status: number
  hasLinks: boolean
  /** As sent; null when the attribute is there but is not a string. Where it is there more than once the first counts. */
  cpid: string | null | undefined
  /** Its CPID is there more than once. */
  repeatsCpid: boolean
  mergelogs: MergelogRecord[] | undefined
  /** Object references, as sent. */
  observed: readonly string[] | undefined
  wrote: readonly string[] | undefined
  seen: SeenWrite | undefined
  /** Bits `SPAN_NAMES_*`. */
  names: number
  isOfCauseway: boolean
}

export interface LogRecord {
  raw: Buffer
  timeNs: UnixNanos
  severity: number
  eventName: string
  /** 16 bytes as a latin1 string, or empty. */
  traceKey: string
  /** 0n for none. */
  spanId: bigint
  cpid: string | null | undefined
  repeatsCpid: boolean
  mergelog: MergelogRecord | undefined
}

/** Everything of a ScopeSpans or ScopeLogs message but its records, and the records. */
export interface ScopeGroup<T> {
  envelope: Buffer
  records: T[]
}

/** Everything of a ResourceSpans or ResourceLogs message but its scopes, and the scopes. */
export interface ResourceGroup<T> {
  envelope: Buffer
  service: string
  cluster: string | undefined
  /** Which of those two it names more than once; the first counts, and what speaks for whom is in doubt. */
  repeated: string | undefined
  scopes: ScopeGroup<T>[]
}

/** A decoded export request. What was refused item by item is only counted, with a reason for each kind. */
export interface Decoded<T> {
  resources: ResourceGroup<T>[]
  rejected: number
  reasons: string[]
}

/**
 * The answer to a request: `rejected` of its spans, log records or data points were refused, and `message` says why. It is stored,
 * so that the same bytes get the same answer again.
 */
export interface RequestAnswer {
  rejected: number
  message: string
}

/** Where a record stands: its scope, and the cluster of its resource, or the empty text. */
export interface RecordOrigin {
  readonly scope: number
  readonly cluster: string
  /** Its spans may be of changes of that cluster alone, as far as it is known whose they are. */
  readonly joinsOwn?: boolean
}

/** The span that reported something, if known: its trace id's 16 bytes as latin1, and its id. */
export interface ReportingSpanIds {
  /** Empty for none. */
  readonly traceKey: string
  /** 0n for none. */
  readonly spanId: bigint
}

/** Whose a refused record is; `sender` is who the connection proved it to be, where it did. */
export interface RefusedRecordOrigin {
  readonly service: string
  readonly cluster: string
  readonly sender: string | undefined
}

/** A resource, as policies know it; the cluster is empty where it names none. */
export interface ServiceInCluster {
  service: string
  cluster: string
}

/** Where arrivals are kept. Synchronous: it is used inside one transaction. */
export interface ArrivalStore {
  /** Milliseconds of wall-clock time at the start of the transaction. */
  readonly wallMs: number
  answerTo(hash: Buffer): RequestAnswer | undefined
  addRequest(hash: Buffer, answer: RequestAnswer): void
  /** The number of a scope of a resource, the same for the same envelopes. */
  scope(
    resource: { envelope: Buffer; service: string; cluster: string | undefined },
    envelope: Buffer,
  ): number
  addSpan(span: SpanRecord, from: RecordOrigin, cpid: number | undefined): void
  addLog(log: LogRecord, scope: number, cpid: number | undefined): void
  addMergelog(
    cpid: number,
    arrival: number,
    mergelog: Mergelog,
    record: MergelogRecord,
    timeNs: UnixNanos,
    from: RecordOrigin,
    told: MergelogArrival,
  ): void
  /** Whether the mergelog of a CPID was worked out, not sent. */
  isWorkedOut(cpid: number): boolean
  /** Gives a worked-out mergelog these sources; it counts as having arrived anew, in place of itself. */
  narrowWorkedOut(cpid: number, arrival: number, sources: readonly Cpid[]): void
  /** Removes the mergelog of a CPID, for another to take its place. Adds it to the refused ones unless it was worked out; true if it did. */
  contestMergelog(cpid: number, text: Cpid): boolean
  addRejectedMergelog(record: MergelogRecord, reason: string, from: RefusedRecordOrigin): void
  /** Whose change a CPID is: the resource that sent its mergelog; undefined without one. */
  ownerOf(cpid: number): ServiceInCluster | undefined
  /** Called last in a transaction that stored requests. */
  endRequests(): void
}

/** How a mergelog came: in which span, if any, whether in place of another, and whether Causeway worked it out, as no sender's came. */
export interface MergelogArrival {
  readonly reportingSpan: ReportingSpanIds | undefined
  readonly replaces: boolean
  readonly isWorkedOut?: boolean
}

/** What one request added, for the metrics. */
export interface IngestCounts {
  spans: number
  logs: number
  /** Data points of metrics. */
  points: number
  mergelogs: number
  /** Those of them that have sources. */
  merges: number
  repeatedMergelogs: number
  refusedMergelogs: Partial<Record<MergelogRefusal, number>>
  malformedCpids: number
  /** Spans, log records and data points that their sender may not send. */
  forbiddenSpans: number
  forbiddenLogs: number
  forbiddenPoints: number
  /** Points of Pods that are kept nowhere, because too many wait already. */
  podPointsLeftOut: number
  /** Spans of API servers' filters that were dropped. */
  filterSpans: number
  repeatedRequests: number
}
