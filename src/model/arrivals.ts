import type { Cpid, Mergelog, MergelogRefusal } from './merge-graph.ts'
import type { InferredWrite } from './seen-write.ts'
import type { UnixNanos } from './time-and-size.ts'

/** A mergelog as its sender wrote it; its CPIDs have not been validated. */
export interface MergelogRecord {
  newCpid: string
  sources: string[]
  /** 0n if the sender gave no time. */
  timeNs: UnixNanos
  object: string | undefined
  reason: string | undefined
  /** Who made the change, if the sender reports the change of another program. */
  writer?: string | undefined
  /** An attribute of the mergelog that occurs more than once; the first occurrence counts. */
  repeated?: string
}

/** Flags of a stored span. */
export const SPAN_HAS_LINKS = 1
export const SPAN_INHERITED_CPID = 2
/** The span has an invalid `cpid.id`. It inherits no CPID. */
export const SPAN_MALFORMED_CPID = 4

/** The span names objects that it read, or wrote. */
export const SPAN_OBSERVED = 8
export const SPAN_WROTE = 16

/** The span has no `cpid.id`, and the policy of its sender is `join: own`: it inherits no CPID of another cluster. */
export const SPAN_JOINS_OWN = 32

/** The span reports an observed write: there is an `InferredWrite` for it. */
export const SPAN_SEEN_WRITE = 64

/** The span names the API request it is part of (`audit-id`), or is a kubelet's and names a Pod (`k8s.pod.uid`). */
export const SPAN_NAMES_REQUEST = 128
export const SPAN_NAMES_POD = 256

/** The span got its CPID from what it joined, or from a parent that did. It does not count as activity. */
export const SPAN_JOINED = 512

/** The span is the writer's own report of a write that was also observed. */
export const SPAN_TOLD_WRITE = 1024

/** A Causeway made the span (`cpid.synthetic`): another one, or this one whose output is sent back to it. */
export const SPAN_OF_CAUSEWAY = 2048

/** Names of the kinds and status codes of a span; the index is OTLP's number. */
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

/** The fields of a received span that linking and queries need, and the bytes of the span. */
export interface SpanRecord {
  /** The bytes of the OTLP Span message, a view of the request. */
  raw: Buffer
  /** 16 bytes as a latin1 string, which is a cheap map key. */
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
  /** `cpid.id` as sent; null if it is not a string. If it occurs more than once, the first occurrence counts. */
  cpid: string | null | undefined
  /** Whether `cpid.id` occurs more than once. */
  repeatsCpid: boolean
  mergelogs: MergelogRecord[] | undefined
  /** Object references, as sent. */
  observed: readonly string[] | undefined
  wrote: readonly string[] | undefined
  seen: InferredWrite | undefined
  /** The flags `SPAN_NAMES_*`. */
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

/** The fields of a ScopeSpans or ScopeLogs message without its records, and the records. */
export interface ScopeGroup<T> {
  envelope: Buffer
  records: T[]
}

/** The fields of a ResourceSpans or ResourceLogs message without its scopes, and the scopes. */
export interface ResourceGroup<T> {
  envelope: Buffer
  service: string
  cluster: string | undefined
  /** Which of these two attributes occurs more than once. The first occurrence counts, but permissions are in doubt. */
  repeated: string | undefined
  scopes: ScopeGroup<T>[]
}

/** A decoded export request. Refused items are only counted; `reasons` has one entry for each kind of refusal. */
export interface Decoded<T> {
  resources: ResourceGroup<T>[]
  rejected: number
  reasons: string[]
}

/**
 * The answer to a request: `rejected` of its spans, log records or data points were refused, and `message` says why. It is stored, so that
 * a repeated request gets the same answer.
 */
export interface RequestAnswer {
  rejected: number
  message: string
}

/** The scope of a record, and the cluster of its resource ('' for none). */
export interface RecordOrigin {
  readonly scope: number
  readonly cluster: string
  /** Whether its spans may only join changes of their own cluster (`join: own`). */
  readonly joinsOwn?: boolean
}

/** The span that reported something, if known: its trace id as 16 latin1 characters, and its span id. */
export interface ReportingSpanIds {
  /** Empty for none. */
  readonly traceKey: string
  /** 0n for none. */
  readonly spanId: bigint
}

/** Where a refused record came from. `sender`: the identity that the connection proved, if any. */
export interface RefusedRecordOrigin {
  readonly service: string
  readonly cluster: string
  readonly sender: string | undefined
}

/** The service and cluster of a resource, to which policies refer; '' if the resource has no cluster. */
export interface ServiceInCluster {
  service: string
  cluster: string
}

/** Stores what arrives. Synchronous; used inside one transaction. */
export interface ArrivalStore {
  /** The wall-clock time at the start of the transaction, in milliseconds. */
  readonly wallMs: number
  answerTo(hash: Buffer): RequestAnswer | undefined
  addRequest(hash: Buffer, answer: RequestAnswer): void
  /** The id of a scope with its resource; equal envelopes have the same id. */
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
  /** Whether Causeway worked out the mergelog of a CPID, since no sender's has arrived. */
  isWorkedOut(cpid: number): boolean
  /** Replaces the sources of a worked-out mergelog. It counts as having arrived again. */
  narrowWorkedOut(cpid: number, arrival: number, sources: readonly Cpid[]): void
  /** Removes the mergelog of a CPID for another one. Unless it was worked out, adds it to the refused ones and returns true. */
  contestMergelog(cpid: number, text: Cpid): boolean
  addRejectedMergelog(record: MergelogRecord, reason: string, from: RefusedRecordOrigin): void
  /** The owner of a CPID: the service and cluster that sent its mergelog; undefined without a mergelog. */
  ownerOf(cpid: number): ServiceInCluster | undefined
  /** Called at the end of a transaction that stored requests. */
  endRequests(): void
}

/** How a mergelog arrived: the span that reported it, whether it replaces another one, and whether Causeway worked it out. */
export interface MergelogArrival {
  readonly reportingSpan: ReportingSpanIds | undefined
  readonly replaces: boolean
  readonly isWorkedOut?: boolean
}

const NOTHING_STORED = {
  spans: 0,
  logs: 0,
  /** Data points of metrics. */
  points: 0,
  mergelogs: 0,
  /** Those of them that have sources. */
  merges: 0,
  repeatedMergelogs: 0,
  malformedCpids: 0,
  /** Spans, log records and data points that their sender may not send. */
  forbiddenSpans: 0,
  forbiddenLogs: 0,
  forbiddenPoints: 0,
  /** Points of Pods that are kept nowhere, because too many wait already. */
  podPointsLeftOut: 0,
  /** Spans of API servers' filters that were dropped. */
  filterSpans: 0,
  repeatedRequests: 0,
}

/** What one request added, for the metrics. */
export type IngestCounts = typeof NOTHING_STORED & {
  refusedMergelogs: Partial<Record<MergelogRefusal, number>>
}

export const noCounts = (): IngestCounts => ({ ...NOTHING_STORED, refusedMergelogs: {} })
