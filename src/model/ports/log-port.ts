import type { Cpid } from '../cpid.ts'
import type { ArrivedSpan } from './linking/spans.ts'
import type { ScopeEnvelopes } from './outbox-port.ts'

/** A stored log record as the linker sees it. */
export interface ArrivedLog {
  /** Its number in ingest order. */
  readonly row: number
  readonly cpid: number | undefined
  /** 16 bytes; undefined when it names no trace. */
  readonly traceId: Buffer | undefined
  /** 0n for none, and when it names no trace. */
  readonly spanId: bigint
  /** It carries a `cpid.id` that is no CPID, and so takes none from its span. */
  readonly malformed: boolean
  /** The same content from the same resource and scope arrived before. */
  readonly repeated: boolean
}

/** Where one log record goes. */
export interface LogDecision {
  log: number
  /** 16 bytes; undefined to keep what it came with. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** The CPID it takes from its span. */
  inherited: number | undefined
}

/** A log record waits for its CPID to be explained, or for its span to leave. */
export type LogWaitingKind = 'cpid' | 'span'

/** Log records that are linked, what waits of them, and what was decided. */
export interface LogLinkStore {
  log(row: number): ArrivedLog | undefined
  /** Removes a log record that repeats one stored before it, and of which nothing was decided. */
  removeRepeated(row: number): void
  wait(log: ArrivedLog, kind: LogWaitingKind, dueMs: number): void
  /** It waits no longer; false when it did not any more. */
  stopWaiting(row: number): boolean
  waitingForCpid(cpid: number): number[]
  waitingForSpan(span: ArrivedSpan): number[]
  /** What has waited long enough to be looked at again. */
  due(limit: number): number[]
  /** Since when a span is missed, in milliseconds of up time; from now on when it was not missed before. */
  spanMissedSince(traceId: Buffer, spanId: bigint): number
  send(decision: LogDecision): void
}

/** One decision about a log record with what is needed to build its bytes. */
export interface LogOutboxItem {
  readonly decision: number
  /** Undefined when the record has been pruned. */
  readonly raw: Buffer | undefined
  readonly scope: number
  readonly traceId: Buffer | undefined
  readonly withoutSpanId: boolean
  readonly inherited: Cpid | undefined
}

/** Reads what was decided about log records; it never writes. */
export interface LogOutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): LogOutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
}
