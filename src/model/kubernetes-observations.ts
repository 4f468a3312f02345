import { deserialize, serialize } from 'node:v8'
import type { ObjectFacts, ObjectIdentity } from './kubernetes-objects.ts'
import type { UnixNanos } from './time-and-size.ts'

/**
 * What became of a batch of observations.
 * - stored: it is durable. What was known already changes nothing.
 * - busy: nothing was stored, since too much waits to be decided; send it again after `retryAfterMs`.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); send it again.
 */
export type ObservationOutcome =
  | { kind: 'stored' }
  | { kind: 'busy'; retryAfterMs: number; reason: string }
  | { kind: 'failed'; reason: string }

/** An object that is known and not gone, and its newest version. */
export interface KnownObjectVersion {
  readonly identity: ObjectIdentity
  readonly version: bigint
}

/** Which of the objects that are known are asked for. */
export interface KnownObjectsQuery {
  readonly cluster: string
  readonly apiVersion: string
  readonly resource: string
  /** Those whose uids come after it. */
  readonly after: string
}

/** Takes what receivers see of clusters. Never rejects, unless it says so. */
export interface ObservationPort {
  /** Resolves once it is durable. Batches of one stream are stored in the order in which they are handed over. */
  record(batch: ObservationBatch): Promise<ObservationOutcome>
  /**
   * A receiver that watches a cluster has, or no longer has, streams that may be behind the others: what is observed meanwhile may follow
   * from what is still to come, and is decided later, though not for long.
   */
  setBehind(cluster: string, receiver: string, isBehind: boolean): void
  /** How far a stream of a cluster was read; undefined when it never was. Rejects when the store cannot be read. */
  position(cluster: string, stream: string): Promise<string | undefined>
  /**
   * The objects of a resource (`apps/v1`, `deployments`) that are known and not gone, by their uids, at most 1,000 after the uid
   * `after` ('' from the first). By them a list shows what vanished while nobody looked. Rejects when the store cannot be read.
   */
  knownObjects(
    cluster: string,
    apiVersion: string,
    resource: string,
    after: string,
  ): Promise<readonly KnownObjectVersion[]>
}

/** What a source of a cluster reported at one time. It is stored whole or not at all. */
export interface ObservationBatch {
  /** The `k8s.cluster.name` of the receiver. */
  readonly cluster: string
  /** The stream that reported it: the receiver's id, and where it has several, which (`k8s_objects apps/v1/deployments`). */
  readonly stream: string
  readonly observations: readonly (Observation | ClusterEvent)[]
  /** What was read and makes no write, by why; counted. */
  readonly skipped?: Readonly<Partial<Record<SkipReason, number>>>
  /**
   * How far the stream is read with this, in the receiver's own words (a resourceVersion, a place in a file); kept with it, so
   * that nothing is reported twice after a restart, and nothing is missed.
   */
  readonly position?: string
}

/** What a source reported about one version of an object, or about one request. */
export type Observation = WatchedVersion | AuditedRequest | AdmittedRequest | MissingObject

/** A version that a watch or a list delivered. */
export interface WatchedVersion {
  readonly source: 'watch'
  readonly object: ObjectIdentity
  readonly version: bigint
  readonly facts: ObjectFacts
  /**
   * How it came to be seen. In the first list of a cluster is what was there before anybody looked; what a later list has that
   * is not known came while nobody did.
   */
  readonly by: 'event' | 'first list' | 'later list'
  /** A watch event said that this version created the object. */
  readonly isNew?: boolean
  readonly gone: boolean
  readonly seenNs: UnixNanos
}

/** A request that the API server accepted, as its audit log or webhook reports it. */
export interface AuditedRequest {
  readonly source: 'audit'
  /** The uid is empty if the answer has none. */
  readonly object: ObjectIdentity
  /** Undefined if the answer has none: bindings, deletions that are answered with a Status. */
  readonly version: bigint | undefined
  /** Undefined where the answer is not the object: scale, bindings, deletions, or an audit policy without answers. */
  readonly facts: ObjectFacts | undefined
  /** The request removed the object, as far as the answer shows. */
  readonly gone: boolean
  /** Nothing says whether it was carried out: only a version that it made does. */
  readonly mayBeDryRun?: boolean
  readonly request: ApiRequest
  readonly seenNs: UnixNanos
}

/**
 * A request that an admission webhook saw before the API server carried it out. It may still have been refused, and its version is
 * not known yet: it is no write by itself, but says who made a write that another source reports.
 */
export interface AdmittedRequest {
  readonly source: 'admission'
  /** On creation without a uid; without a name where the API server makes one. */
  readonly object: ObjectIdentity
  readonly version: undefined
  /** What the name that the API server makes begins with; empty where the request gives the name. */
  readonly generateName: string
  /** The version upon which the request is done; undefined on creation. */
  readonly versionBefore: bigint | undefined
  /** Of the object as it is about to be stored; undefined for deletions, and where it is another object: scale, bindings. */
  readonly facts: ObjectFacts | undefined
  readonly request: ApiRequest
  readonly seenNs: UnixNanos
}

/** An object that was known and that a later list does not have: it went while nobody looked. */
export interface MissingObject {
  readonly source: 'list'
  readonly object: ObjectIdentity
  /** That of the list: the object went at it or before. */
  readonly version: bigint
  readonly seenNs: UnixNanos
}

/** Why a report of a source describes no write. */
export type SkipReason =
  'failed' | 'read' | 'stage' | 'dry_run' | 'heartbeat' | 'event' | 'lease' | 'no_object' | 'unversioned'

/** What a request asked for. A binding and an eviction are creations of subresources. */
export type Verb = 'create' | 'update' | 'patch' | 'delete'

/** Who wrote, as audit and admission say it. */
export interface Actor {
  /** `alice`, `system:serviceaccount:kube-system:replicaset-controller`. */
  readonly user: string
  /** As whom the request was carried out, which is all that admission is told; undefined if as nobody else. */
  readonly impersonated?: string
  /** `kubectl/v1.36.3 (linux/amd64) …`; empty if unknown. */
  readonly userAgent: string
}

/** What audit or admission report about the request that made a version. */
export interface ApiRequest {
  readonly actor: Actor
  readonly verb: Verb
  /** `status`, `scale`, `binding`; empty for the object itself. */
  readonly subresource: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  /** The version that the request says it read: in the body of a PUT, or in a deletion's preconditions. */
  readonly readVersion?: bigint
  /** The answer has the version that was made. If not, the request is identified by its number. */
  readonly tellsVersion: boolean
  /** The API server's own number of the request. */
  readonly auditId?: string
  /** The W3C trace context with which admission was called; API server spans of the request have it. */
  readonly traceparent?: string
}

/** One accepted request that made a version of an object, as far as the sources of its cluster report it. */
export interface ClusterWrite {
  readonly object: ObjectIdentity
  /** The version that it made. Undefined if only an audit log without versions reported the write. */
  readonly version: bigint | undefined
  /** If the version is unknown: the newest version of any object that was reported before. */
  readonly after?: bigint | undefined
  /** The versions of its object are watched, no watch is behind, and none has shown it. */
  readonly isUnseen?: boolean
  /** Its request deleted a collection that no source lists: perhaps this object was deleted before. */
  readonly isOfCollection?: boolean
  /** The object is gone with it. */
  readonly gone: boolean
  /** Of the version, or where no source shows it of the version before. */
  readonly facts: ObjectFacts | undefined
  /** Undefined where only a watch saw it. */
  readonly request: ApiRequest | undefined
  /** When the watch reported it, or a higher version if that came first; or when the request ended. */
  readonly seenNs: UnixNanos
  /** It was there when a list was made, instead of being seen to be written. */
  readonly listed: 'first' | 'later' | undefined
  /** The version that the API server was about to make for a request, when it wrote this one on the way. */
  readonly within?: { readonly uid: string; readonly version: bigint }
}

/** Which object an Event is about, or names beside it, as far as it says. */
export interface EventObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The version that the reporter of the Event had seen. */
  readonly version?: bigint
}

/** An Event of the API server (events.k8s.io/v1, or core v1): what a controller says of an object. It is no write. */
export interface ClusterEvent {
  readonly source: 'event'
  readonly uid: string
  /** The version of the Event itself: a higher one repeats it, as one of a series. */
  readonly version: bigint
  readonly name: string
  readonly namespace: string
  readonly regarding: EventObject
  readonly related?: EventObject
  /** `SuccessfulCreate`. */
  readonly reason: string
  readonly note: string
  /** `Normal` or `Warning`. */
  readonly type: string
  /** What was done to `regarding`, where it says so. */
  readonly action: string
  /** `replicaset-controller`, and which of them. */
  readonly controller: string
  readonly instance: string
  /** How often it happened so far. */
  readonly count: number
  readonly firstNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly seenNs: UnixNanos
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/

/** The trace and span that a W3C `traceparent` names; undefined when it is none. */
export function readTraceparent(text: string): { traceId: Buffer; spanId: bigint } | undefined {
  const [, trace = '', span = ''] = TRACEPARENT.exec(text) ?? []
  if (/^0*$/.test(trace) || /^0*$/.test(span)) return undefined
  return { traceId: Buffer.from(trace, 'hex'), spanId: Buffer.from(span, 'hex').readBigInt64BE(0) }
}

type Told = ObservationBatch['observations']

/** Observations as bytes, which threads pass on and the store keeps until they are decided. Empty if there are none. */
export function serializeObservations(told: Told): Uint8Array<ArrayBuffer> {
  return told.length === 0 ? new Uint8Array() : new Uint8Array(serialize(told))
}

/** Throws where the bytes are none of `bytesOfTold`. */
export function deserializeObservations(bytes: Uint8Array): Told {
  const told: unknown = deserialize(bytes)
  if (!Array.isArray(told)) throw new Error('what was told of a cluster cannot be read')
  return told as Told
}

/** What is logged once all that is to be watched of a cluster was listed: no change from then on is missed. */
export const EVERYTHING_LISTED = 'Everything is listed'
