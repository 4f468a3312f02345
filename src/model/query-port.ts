import type { UnixNanos } from './clock.ts'
import type { Cpid } from './cpid.ts'
import type { ScopeEnvelopes } from './outbox-port.ts'

/** Why there is no answer about a CPID: it was never sighted, or retention removed it. */
export type Absent = 'unknown' | 'pruned'

/** Where an item stands in its list; what comes after it can be asked for. */
export type Position = readonly bigint[]

/** One item of a list that can be read in parts. */
export interface Placed {
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

export interface MergelogFacts extends Placed {
  readonly cpid: Cpid
  readonly sources: readonly Cpid[]
  readonly timeNs: UnixNanos
  readonly service: string | undefined
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
}

/** A span or log record as it was received. */
export interface StoredRecord extends Placed {
  readonly scope: number
  readonly raw: Buffer
}

/** What is known of the cascade of a root CPID: all its traces, the main one and the episodes, taken together. */
export interface CascadeFacts extends Placed {
  readonly root: Cpid
  /** The trace id of the first of its traces. */
  readonly traceId: Buffer
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly traces: number
  readonly spans: number
  readonly services: number
  readonly merges: number
  /** CPIDs without a mergelog: those of open traces now, those of settled ones when they settled. */
  readonly missing: number
  readonly truncated: boolean
  /** The object and the sender of the root's mergelog. */
  readonly object: string | undefined
  readonly service: string | undefined
}

export interface CascadeFilter {
  readonly state?: 'open' | 'settled'
  /** An object reference of the root's mergelog, or the beginning of one up to a `/` or `?`. */
  readonly object?: string
  /** A service that has spans in the cascade or began it. */
  readonly service?: string
}

/** One outgoing trace of a cascade. */
export interface TraceFacts {
  readonly id: number
  readonly traceId: Buffer
  /** 0 is the main trace. */
  readonly episode: number
  readonly open: boolean
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
}

/** A span as it was sent into a trace. */
export interface LinkedSpan {
  readonly spanId: bigint
  /** 0n for the root span of the trace. */
  readonly parentId: bigint
  readonly name: string
  readonly service: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly cpid: Cpid | undefined
  /** OTLP's numbers. */
  readonly kind: number
  readonly status: number
  /** The number of the stored span; undefined for one of Causeway's own making. */
  readonly row: number | undefined
  /** It also stands in another trace. */
  readonly copy: boolean
  /** Its parent wrote what it observed: they are not of one original trace. */
  readonly byCause: boolean
}

/** What can be asked of what is stored. Synchronous; reads only. */
export interface CausewayQueries {
  cpid(cpid: Cpid): CpidFacts | Absent
  /** Itself first, then by mergelog time; those without a mergelog by first sighting. */
  related(cpid: Cpid): Pages<Cpid> | Absent
  /** Without itself, nearest first, then by mergelog time. */
  ancestors(cpid: Cpid): Pages<Cpid> | Absent
  /** Those of its ancestors and itself that no edge points to, in the order of `ancestors`. */
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

  /** Newest first. Positions have one part. */
  cascades(filter: CascadeFilter, after: Position | undefined): Pages<CascadeFacts>
  /** The roots of the cascades in which the CPID takes part, newest first; none before it was linked. */
  cascadesOf(cpid: Cpid): readonly Cpid[] | Absent
  /** `'unknown'` also for a CPID that is not the root of a cascade. */
  cascade(root: Cpid): CascadeFacts | Absent
  /** The traces of a cascade, the main one first. */
  tracesOf(root: Cpid): readonly TraceFacts[]
  /** CPIDs of a cascade whose mergelog has not arrived yet, at most `limit`. */
  missingIn(root: Cpid, limit: number): readonly Cpid[]
  /** The spans of one trace as linked, in the order in which they were sent. */
  linkedSpans(trace: number): readonly LinkedSpan[]
}
