import type { ObjectFacts, ObjectIdentity } from './kubernetes-objects.ts'
import type { ClusterWrite, KnownObjectsQuery, ExistingObject } from './kubernetes-observations.ts'
import type { Cpid } from './merge-graph.ts'
import type { UnixNanos } from './time-and-size.ts'
import type { ReportedWrite } from './reported-writes.ts'

/** A stored batch of observations that are still undecided. */
export interface StoredObservationBatch {
  readonly id: number
  readonly cluster: string
  /** The observations, serialized by the receiver. */
  readonly body: Uint8Array
}

/** What inference stores about clusters. Used inside a transaction. */
export interface InferenceStore {
  objectsOf(cluster: string): ClusterObjects
  /** Stores a batch of observations until they are decided. Returns its number; later batches have higher ones. */
  addBatch(cluster: string, body: Uint8Array): number
  /** Removes the batches up to a number; they have been decided. */
  removeBatches(cluster: string, upTo: number): void
  /** Undecided batches in order of arrival: at most `most`, with numbers above `after`. */
  batches(after: number, most: number): StoredObservationBatch[]
  moveTo(cluster: string, stream: string, position: string): void
  position(cluster: string, stream: string): string | undefined
  held(asked: KnownObjectsQuery): ExistingObject[]
}

/** A version of an object, and the change it belongs to. */
export interface KnownVersion {
  readonly version: bigint
  /** Undefined if the version existed before the cluster was watched. */
  readonly cpid: Cpid | undefined
  readonly facts: ObjectFacts
  readonly gone: boolean
  /** Changes from which `cpid` is known to descend, up to a limit. */
  readonly includes: readonly Cpid[]
  /** Requests that began before this time had not read it, by the API server's clock. Undefined if its own request is unknown. */
  readonly readableNs?: UnixNanos | undefined
  /** The version that last changed the content, by any writer; undefined if unknown. */
  readonly contentVersion?: bigint | undefined
  /** Whether an operator began a change with this version. */
  readonly begun?: boolean | undefined
  /** Whether it is certain which change gave it its content: a person wrote that, or it follows exactly from such a version. */
  readonly isCertain?: boolean | undefined
}

export interface KnownObject {
  readonly identity: ObjectIdentity
  /** The versions that are stored, newest first. */
  readonly versions: readonly KnownVersion[]
  /** Versions up to this one have been decided, and are no longer stored. */
  readonly forgotten?: bigint
}

/** In `ownedBy`: objects of any resource. */
export const ANY_RESOURCE = '*'

/** In `kindsOf`: the kinds of all API groups. */
export const EVERY_GROUP = '*'

/** The relation of an object that a controller wrote on behalf of another one which does not own it. */
export const MADE_FOR = 'made for'

/** The key under which `ownedBy` finds objects by another relation than ownership, in place of a resource. */
export function foundUnder(resource: string, as: string): string {
  return `${as === MADE_FOR ? ANY_RESOURCE : resource} ${as}`
}

/** The objects of one cluster, as inference has observed them. */
export interface ClusterObjects {
  get(uid: string): KnownObject | undefined
  /** The newest object with this name. */
  named(resource: string, namespace: string, name: string): KnownObject | undefined
  /** The last object with this name that was deleted. */
  lastGone(resource: string, namespace: string, name: string): KnownObject | undefined
  /** The objects of a resource that this one owns, with a version in (after, before); the newest change first. */
  ownedBy(uid: string, resource: string, after: bigint, before: bigint, most: number): KnownObject[]
  /** The objects of a resource in a namespace, with a version in (after, before); the newest change first. */
  changedIn(resource: string, namespace: string, after: bigint, before: bigint, most: number): KnownObject[]
  /** The objects of a resource (or of any) whose content refers to this object by `field`. */
  naming(field: string, resource: string, named: ObjectIdentity, most: number): KnownObject[]
  add(identity: ObjectIdentity, version: KnownVersion): void
  /**
   * The last version of what concerns an object that a controller had seen when it wrote the object. Under another key: when it wrote an
   * object that this one owns.
   */
  lastActed(uid: string, by: string): bigint
  noteActed(uid: string, by: string, version: bigint): void
  /** The resources of a controller's primary objects: it writes their status, or creates objects that they own. */
  primariesOf(by: string): readonly string[]
  notePrimary(by: string, resource: string): void
  /** The kinds of custom resources of an API group that have been written. */
  kindsOf(group: string): readonly string[]
  noteKind(group: string, resource: string): void
  /** The API groups that have this kind. */
  groupsOf(resource: string): readonly string[]
  /** The controllers for which objects of this resource are primary. */
  lookingAfter(resource: string): readonly string[]
  /** True the first time it is called for a request without a version. Requests are remembered as long as sources may repeat them. */
  isFirstReport(request: string): boolean
}

/** The merge graph, as inference needs it. */
export interface Changes {
  /** The changes in the list from which no other one in the list descends. */
  newest(cpids: readonly Cpid[]): Cpid[]
  /** Whether an annotation may assign an object to this change. */
  mayJoin(cpid: Cpid): boolean
  /**
   * The span in which the writer reports its own write. If this is absent, no writer does. `ends`: which part of a deletion the write is.
   */
  ownReportOf?(write: ClusterWrite, ends: 'deletion' | 'removal' | undefined): ReportedWrite | undefined
}

const NOTHING_DECIDED = {
  /** Writes that were decided, by cause. */
  operator: 0,
  self: 0,
  exact: 0,
  inferred: 0,
  /** Already known, or changes nothing but a heartbeat. */
  unchanged: 0,
  /** Decided, but versions just before were not seen. */
  gaps: 0,
  events: 0,
  /** Requests that admission reported and that made no write. */
  unmatched: 0,
}

/** What became of writes and Events of one observed cluster, for the metrics. */
export type InferenceCounts = typeof NOTHING_DECIDED & { readonly cluster: string }

export const noInferenceCounts = (cluster: string): InferenceCounts => ({ cluster, ...NOTHING_DECIDED })
