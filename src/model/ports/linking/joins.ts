import type { UnixNanos } from '../../clock.ts'
import type { ArrivedSpan } from './spans.ts'

/** What a span says it belongs to, beside its links. */
export interface NamedByItself {
  /** The API server's number of the request. */
  readonly auditId: string | undefined
  /** The request only reads: no write has its number. */
  readonly reads: boolean
  /** The uid of a Pod, and the Pod as spans name objects. */
  readonly pod: { readonly uid: string; readonly object: string } | undefined
}

/** What spans without a CPID join: writes that were seen from outside, and spans that they link to. */
export interface Joins {
  namedBy(row: number): NamedByItself
  /** Linked spans that tell of the write with this number, those that arrived first at first: a few. */
  writesOf(auditId: string): number[]
  /** Linked spans that tell of writes for which admission was called in an original trace: a few. */
  writesAdmittedIn(origin: number): number[]
  /** The linked span that tells of the newest write of a Pod up to a time; of whichever cluster where that is empty. */
  newestWriteOf(pod: { uid: string; object: string }, cluster: string, upToNs: UnixNanos): number | undefined
  /** The span has joined another, and hangs under it. */
  add(span: ArrivedSpan, target: number): void
  /** What the span joined by itself. */
  targetOf(row: number): number | undefined
  /** The span waits for what has one of these keys. */
  await(row: number, keys: readonly string[]): void
  stopAwaiting(row: number): void
  /** Spans that wait for what a span may be to them that is sent: the write that it tells of, or what links name. */
  waitingFor(span: ArrivedSpan): readonly number[]
}

/** By what something is awaited. */
export const keyOfRequest = (auditId: string): string => `request ${auditId}`
export const keyOfTrace = (origin: number): string => `trace ${origin}`
export const keyOfPod = (uid: string): string => `pod ${uid}`
export const keyOfLink = (spanId: bigint): string => `${LINK}${spanId}`
export const LINK = 'link '
