import type { ObjectIdentity } from './kubernetes-objects.ts'
import type { Cpid } from './merge-graph.ts'
import type { LinkedSignal } from './otlp-requests.ts'
import type { SeenWrite } from './seen-write.ts'

/** A span by which a program reports its own write. */
export interface ReportedWrite {
  /** The number of its arrival. */
  readonly row: number
  readonly cpid: Cpid
  readonly service: string
  /** What the span is called. */
  readonly name: string
}

/** The writes that programs report in spans of their own. Used inside a transaction. */
export interface ReportedWrites {
  /** The spans that report a version of an object, newest first. Without a version: those whose write got no version in its answer. */
  of(cluster: string, object: ObjectIdentity, version: bigint | undefined): ReportedWrite[]
  /** Stores with the span what a receiver observed of the write, and the version that it made. */
  noteSeen(
    told: ReportedWrite,
    cluster: string,
    object: ObjectIdentity,
    version: bigint | undefined,
    seen: SeenWrite,
  ): void
}

/** The observed change of a write for which a program began a change of its own, since it did not know the writer. */
export type Explanation =
  /** No receiver observed the object, or that version of it. */
  | 'none'
  /** The version was observed, and inference has not decided about it yet. */
  | 'later'
  /** The change that inference found for the version. */
  | Cpid

/** A span or log record about a write that inference has not decided about: an OTLP request with nothing else in it. */
export interface HeldItem {
  readonly signal: LinkedSignal
  readonly request: Buffer
  /** What its connection proved, as JSON. */
  readonly sender: string | undefined
}

/** A mergelog made from an observed version that carries its CPID. It is recorded if the sender's own does not arrive in time. */
export interface WorkedOutMergelog {
  readonly cpid: Cpid
  /** Its sources, or all of its ancestors that are known. */
  readonly sources: readonly Cpid[]
  readonly service: string
  readonly cluster: string
  readonly object: string
  readonly reason: string
  readonly timeNs: string
}

/** Items that wait until inference has decided about their write. Used inside a transaction. */
export interface HeldItems {
  /** Whether there are any. */
  readonly areThere: boolean
  /** Holds an item; false where there is no room for it. */
  hold(cpid: Cpid, item: HeldItem): boolean
  /** Takes out what is held for the change that a program began for the write, in the order in which it came. */
  take(cpid: Cpid): HeldItem[]
  /** Holds a mergelog for `waitMs` from an up time on, now unless given. It is dropped if there is no room for it. */
  holdWorkedOut(mergelog: WorkedOutMergelog, waitMs: number, sinceMs: number | undefined): void
  /** Takes out some that are due: items that waited long enough for a version that no source reported, and worked out mergelogs. */
  takeDue(most: number): (HeldItem | WorkedOutMergelog)[]
}
