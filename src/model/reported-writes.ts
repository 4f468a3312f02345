import type { ObjectIdentity } from './kubernetes-objects.ts'
import type { Cpid } from './merge-graph.ts'
import type { LinkedSignal } from './otlp-requests.ts'
import type { InferredWrite } from './seen-write.ts'

/** A span in which a program reports its own write. */
export interface ReportedWrite {
  /** Its arrival number. */
  readonly row: number
  readonly cpid: Cpid
  readonly service: string
  /** The name of the span. */
  readonly name: string
}

/** The writes that programs report in their own spans. Used inside a transaction. */
export interface ReportedWrites {
  /** The spans that report a version of an object, newest first. Without a version: those whose response had no version. */
  of(cluster: string, object: ObjectIdentity, version: bigint | undefined): ReportedWrite[]
  /** Stores with the span what a receiver observed of the write, and the version of the write. */
  noteInferred(
    report: ReportedWrite,
    cluster: string,
    object: ObjectIdentity,
    version: bigint | undefined,
    seen: InferredWrite,
  ): void
}

/** The change of the object to which a program reacted. The program began a new change, since it did not know that one. */
export type Explanation =
  /** No receiver observed this object or version. */
  | 'none'
  /** The version was observed, but inference has not decided about it. */
  | 'later'
  /** The change of the version. */
  | Cpid

/** A span or log record about a write that inference has not decided about, as an OTLP request of its own. */
export interface HeldItem {
  readonly signal: LinkedSignal
  readonly request: Buffer
  /** The identity that the connection proved, as JSON. */
  readonly sender: string | undefined
}

/** A mergelog that Causeway made from an observed version with its CPID. It is recorded if the sender's own does not arrive in time. */
export interface WorkedOutMergelog {
  readonly cpid: Cpid
  /** Its sources, or all known ancestors. */
  readonly sources: readonly Cpid[]
  readonly service: string
  readonly cluster: string
  readonly object: string
  readonly reason: string
  readonly timeNs: string
}

/** Items that wait until inference has decided about a write. Used inside a transaction. */
export interface HeldItems {
  /** Whether any item is held. */
  readonly areThere: boolean
  /** Holds an item; false if there is no room. */
  hold(cpid: Cpid, item: HeldItem): boolean
  /** Removes and returns the items held for the change that a program began, in order of arrival. */
  take(cpid: Cpid): HeldItem[]
  /** Holds a mergelog for `waitMs`, counted from `sinceMs` in up time, or from now. It is dropped if there is no room. */
  holdWorkedOut(mergelog: WorkedOutMergelog, waitMs: number, sinceMs: number | undefined): void
  /** Removes and returns items that are due: those whose version no source reported in time, and worked-out mergelogs. */
  takeDue(most: number): (HeldItem | WorkedOutMergelog)[]
}
