import type { LogRecord, MergelogRecord, SpanRecord } from '../arrivals.ts'
import type { UnixNanos } from '../clock.ts'
import type { Cpid } from '../cpid.ts'
import type { Mergelog, MergelogRefusal } from './graph-port.ts'

/** What was answered to a request, kept so that the same bytes again get the same answer. */
export interface RequestAnswer {
  rejected: number
  message: string
}

/** Where a record stands: its scope, and the cluster of its resource, or the empty text. */
export interface SentFrom {
  readonly scope: number
  readonly cluster: string
  /** Its spans may be of changes of that cluster alone, as far as it is known whose they are. */
  readonly joinsOwn?: boolean
}

/** The span in which something was told, as far as it is known: its trace id's 16 bytes as latin1, and its id. */
export interface ReportingSpanIds {
  /** Empty for none. */
  readonly traceKey: string
  /** 0n for none. */
  readonly spanId: bigint
}

/** Whose a refused record is; `sender` is who the connection proved it to be, where it did. */
export interface RefusedFrom {
  readonly service: string
  readonly cluster: string
  readonly sender: string | undefined
}

/** A resource, as policies know it; the cluster is empty where it names none. */
export interface Owner {
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
  addSpan(span: SpanRecord, from: SentFrom, cpid: number | undefined): void
  addLog(log: LogRecord, scope: number, cpid: number | undefined): void
  addMergelog(
    cpid: number,
    arrival: number,
    mergelog: Mergelog,
    record: MergelogRecord,
    timeNs: UnixNanos,
    from: SentFrom,
    told?: ReportingSpanIds,
  ): void
  /** Puts the mergelog of a CPID among the refused: another takes its place. */
  contestMergelog(cpid: number, text: Cpid): void
  addRejectedMergelog(record: MergelogRecord, reason: string, from: RefusedFrom): void
  /** Whose change a CPID is: the resource that sent its mergelog; undefined without one. */
  ownerOf(cpid: number): Owner | undefined
  /** Called last in a transaction that stored requests. */
  endRequests(): void
}

/** What one request added, for the metrics. */
export interface IngestCounts {
  spans: number
  logs: number
  mergelogs: number
  /** Those of them that have sources. */
  merges: number
  repeatedMergelogs: number
  refusedMergelogs: Partial<Record<MergelogRefusal, number>>
  malformedCpids: number
  /** Spans and log records that their sender may not send. */
  forbiddenSpans: number
  forbiddenLogs: number
  /** Spans of API servers' filters that were dropped. */
  filterSpans: number
  repeatedRequests: number
}
