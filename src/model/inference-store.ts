import type { ObjectFacts, ObjectIdentity } from './kubernetes-objects.ts'
import type { ClusterWrite, KnownObjectsQuery, KnownObjectVersion } from './kubernetes-observations.ts'
import type { Cpid } from './merge-graph.ts'
import type { UnixNanos } from './time-and-size.ts'
import type { ReportedWrite } from './reported-writes.ts'

/** A stored batch of observations that are not decided yet. */
export interface StoredObservationBatch {
  readonly id: number
  readonly cluster: string
  /** As the receiver sent it. */
  readonly body: Uint8Array
}

/** What inference stores about clusters. Used inside a transaction only. */
export interface InferenceStore {
  objectsOf(cluster: string): ClusterObjects
  /** Stores a batch of observations until it is decided. Returns its number; later batches have higher ones. */
  addBatch(cluster: string, body: Uint8Array): number
  /** Removes the batches up to a number, which are decided. */
  removeBatches(cluster: string, upTo: number): void
  /** The batches that are not decided, in the order in which they arrived. */
  batches(after: number, most: number): StoredObservationBatch[]
  moveTo(cluster: string, stream: string, position: string): void
  position(cluster: string, stream: string): string | undefined
  held(asked: KnownObjectsQuery): KnownObjectVersion[]
}

/** A version of an object, and the change that it came from. */
export interface KnownVersion {
  readonly version: bigint
  /** Undefined for a version that existed before the cluster was watched. */
  readonly cpid: Cpid | undefined
  readonly facts: ObjectFacts
  readonly gone: boolean
  /** Changes that its own is known to come from, as many as are remembered. */
  readonly includes: readonly Cpid[]
  /** Whose request began before this moment had not read it, by the API server's clock; undefined where no request is known. */
  readonly readableNs?: UnixNanos | undefined
  /** Since which version its content is what it is, by whoever wrote that; undefined where that is not known. */
  readonly contentVersion?: bigint | undefined
  /** An operator began a change with it. */
  readonly begun?: boolean | undefined
}

export interface KnownObject {
  readonly identity: ObjectIdentity
  /** Newest first; as many as are kept. */
  readonly versions: readonly KnownVersion[]
  /** Versions up to this one were decided and are no longer kept. */
  readonly forgotten?: bigint
}

/** Asks for owned objects of every resource. */
export const ANY_RESOURCE = '*'

/** Notes and asks for the kinds of all API groups. */
export const EVERY_GROUP = '*'

/** How a controller finds what it wrote for an object that it looks after and that does not own it. */
export const MADE_FOR = 'made for'

/** The name in place of a resource under which `ownedBy` finds objects of a resource by something else than their owners. */
export function foundUnder(resource: string, as: string): string {
  return `${as === MADE_FOR ? ANY_RESOURCE : resource} ${as}`
}

/** The objects of one cluster as inference has seen them. */
export interface ClusterObjects {
  get(uid: string): KnownObject | undefined
  /** The newest that has that name. */
  named(resource: string, namespace: string, name: string): KnownObject | undefined
  /** The last that had that name and is gone. */
  lastGone(resource: string, namespace: string, name: string): KnownObject | undefined
  /** What it owns of a resource, with a version in (after, before); newest change first. */
  ownedBy(uid: string, resource: string, after: bigint, before: bigint, most: number): KnownObject[]
  /** The objects of a resource in a namespace with a version in (after, before); newest change first. */
  changedIn(resource: string, namespace: string, after: bigint, before: bigint, most: number): KnownObject[]
  /** Objects of a resource, or of any, whose content names that one as `field`. */
  naming(field: string, resource: string, named: ObjectIdentity, most: number): KnownObject[]
  add(identity: ObjectIdentity, version: KnownVersion): void
  /**
   * What was noted of a controller and an object last: up to which version it knew what bears on it when it wrote it, or, under
   * another name, when it did something to what the object owns.
   */
  lastActed(uid: string, by: string): bigint
  noteActed(uid: string, by: string, version: bigint): void
  /** Resources of the objects that a controller looks after: it writes their status, or makes what they own. */
  primariesOf(by: string): readonly string[]
  notePrimary(by: string, resource: string): void
  /** Which kinds of custom resources an API group has, as far as they were written. */
  kindsOf(group: string): readonly string[]
  noteKind(group: string, resource: string): void
  /** The API groups that have such a kind. */
  groupsOf(resource: string): readonly string[]
  /** Which controllers look after the objects of a resource. */
  lookingAfter(resource: string): readonly string[]
  /** True the first time that a request of unknown version is asked for. It is remembered as long as sources may repeat it. */
  isFirstReport(request: string): boolean
}

/** Which changes follow from which: the merge graph. */
export interface Changes {
  /** The changes in the list from which no other change in the list descends. */
  newest(cpids: readonly Cpid[]): Cpid[]
  /** Whether the annotation of an object may assign it to this change. */
  mayJoin(cpid: Cpid): boolean
  /** The span in which the writer itself reports a write. Without this method no writer does. `ends`: the part of a deletion that the write is. */
  ownReportOf?(write: ClusterWrite, ends: 'deletion' | 'removal' | undefined): ReportedWrite | undefined
}

/** What became of writes and Events of one observed cluster, for the metrics. */
export interface InferenceCounts {
  readonly cluster: string
  /** Writes that were decided, by cause. */
  operator: number
  self: number
  exact: number
  inferred: number
  /** Already known, or changes nothing but a heartbeat. */
  unchanged: number
  /** Decided, but versions just before were not seen. */
  gaps: number
  events: number
  /** Requests that admission reported and that made no write. */
  unmatched: number
}

export function noInferenceCounts(cluster: string): InferenceCounts {
  return {
    cluster,
    operator: 0,
    self: 0,
    exact: 0,
    inferred: 0,
    unchanged: 0,
    gaps: 0,
    events: 0,
    unmatched: 0,
  }
}
