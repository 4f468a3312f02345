import type { ArrivedSpan } from './spans.ts'

export type WaitingKind = 'span' | 'change' | 'orphan' | 'cause' | 'parent' | 'join'

export interface Waiting {
  readonly arrival: number
  readonly kind: WaitingKind
  readonly cpid: number | undefined
  readonly origin: number | undefined
  /** Of a change: the span that told of it. */
  readonly parentId: bigint | undefined
  /** Of a span that misses nothing any more but waits for spans that wait themselves: until when, in up time. */
  readonly behindUntilMs: number | undefined
}

/** What waits for a mergelog, a writer, a parent or who told of it, and until when. */
export interface WaitingItems {
  add(waiting: Waiting, dueMs: number): void
  /** True for a span that is linked but not sent yet. */
  hasSpan(row: number): boolean
  /** Until when an arrival waits, in milliseconds of up time, if it does. */
  untilOf(arrival: number): number | undefined
  /** True for a span that waits only for spans that wait themselves. */
  isBehind(row: number): boolean
  /** It is looked at before all else that is due, if it waits. */
  wake(arrival: number): void
  /** It waits no longer; false when it did not any more. */
  remove(arrival: number): boolean
  forCpid(cpid: number): Waiting[]
  forParent(origin: number, parentId: bigint): Waiting[]
  /** Changes that wait for a span with this id, in whichever trace, that told of them. */
  changesToldBy(spanId: bigint): Waiting[]
  /** What has waited long enough to be looked at again. */
  due(limit: number): Waiting[]
}

/** A span that was not there when its child was linked. trace -1 and 0: see awaited_parents in the schema. */
export interface AwaitedParent {
  readonly trace: number
  readonly cpid: number | undefined
  readonly sinceMs: number
  /** A child of it is activity of the trace's root. */
  readonly driven: boolean
}

/** The child waits for the parent, which gives it a CPID or says what drives it. */
export const AWAITED_FOR_CPID = 0
/** The child was forwarded without a CPID. */
export const AWAITED_AFTER_FORWARD = -1

/** Parents that had not arrived when a child of theirs was linked. */
export interface AwaitedParents {
  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void
  /** When a parent was first missed, if it is awaited. */
  since(origin: number, spanId: bigint): number | undefined
  /** Takes the awaiting of this span away. */
  take(span: ArrivedSpan): AwaitedParent[]
}
