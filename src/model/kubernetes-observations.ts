import { deserialize, serialize } from 'node:v8'
import type { ObjectFacts, ObjectIdentity } from './kubernetes-objects.ts'
import type { UnixNanos } from './time-and-size.ts'

/**
 * The outcome of recording a batch of observations.
 * - stored: the batch is durable. Observations that were known already change nothing.
 * - busy: nothing was stored, since too many observations are undecided; retry after `retryAfterMs`.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); retry.
 */
export type ObservationOutcome =
  | { kind: 'stored' }
  | { kind: 'busy'; retryAfterMs: number; reason: string }
  | { kind: 'failed'; reason: string }

/** An existing object, and its newest known version. */
export interface ExistingObject {
  readonly identity: ObjectIdentity
  readonly version: bigint
}

/** Selects known objects. */
export interface KnownObjectsQuery {
  readonly cluster: string
  readonly apiVersion: string
  readonly resource: string
  /** Only objects with a greater uid. */
  readonly after: string
}

/** Takes the observations of receivers. Never rejects unless a method says so. */
export interface ObservationPort {
  /** Resolves once the batch is durable. Batches of one stream are stored in the order of the calls. */
  record(batch: ObservationBatch): Promise<ObservationOutcome>
  /**
   * Says whether some streams of a receiver may lag behind others. While they do, observations are decided with a limited delay, since they
   * may follow from observations that are still to come.
   */
  setBehind(cluster: string, receiver: string, isBehind: boolean): void
  /** How far a stream of a cluster was read; undefined if it never was. Rejects if the store cannot be read. */
  position(cluster: string, stream: string): Promise<string | undefined>
  /**
   * The existing objects of a resource (`apps/v1`, `deployments`), sorted by uid: at most 1,000 with a uid greater than `after` ('' for
   * all). A list is compared with them to find objects that were deleted while nobody watched. Rejects if the store cannot be read.
   */
  knownObjects(
    cluster: string,
    apiVersion: string,
    resource: string,
    after: string,
  ): Promise<readonly ExistingObject[]>
}

/** What a source of a cluster reported at one time. It is stored atomically. */
export interface ObservationBatch {
  /** The `k8s.cluster.name` in the receiver's configuration. */
  readonly cluster: string
  /** The stream: the receiver's id and, if it has several streams, which one (`k8s_objects apps/v1/deployments`). */
  readonly stream: string
  readonly observations: readonly (Observation | ClusterEvent)[]
  /** Counts of reports that describe no write, by reason. */
  readonly skipped?: Readonly<Partial<Record<SkipReason, number>>>
  /**
   * How far the stream has been read including this batch, in the receiver's own format (a resourceVersion, a file offset). It is stored
   * with the batch, so that after a restart nothing is reported twice or missed.
   */
  readonly position?: string
}

/** A report of a source about a version of an object, or about a request. */
export type Observation = WatchedVersion | AuditedRequest | AdmittedRequest | MissingObject

/** A version from a watch or a list. */
export interface WatchedVersion {
  readonly source: 'watch'
  readonly object: ObjectIdentity
  readonly version: bigint
  readonly facts: ObjectFacts
  /**
   * How it was observed. The first list of a cluster has what existed before anybody watched; an unknown version in a later list was
   * written while nobody watched.
   */
  readonly by: 'event' | 'first list' | 'later list'
  /** Whether a watch event said that this version created the object. */
  readonly isNew?: boolean
  readonly gone: boolean
  readonly seenNs: UnixNanos
}

/** A request that the API server accepted, from its audit log or audit webhook. */
export interface AuditedRequest {
  readonly source: 'audit'
  /** The uid is '' if the response has none. */
  readonly object: ObjectIdentity
  /** Undefined if the response has none: bindings, and deletions answered with a Status. */
  readonly version: bigint | undefined
  /** Undefined if the response is not the object: scale, bindings, deletions, or an audit policy without responses. */
  readonly facts: ObjectFacts | undefined
  /** Whether the request removed the object, as far as the response shows. */
  readonly gone: boolean
  /** Whether it may be a dry run: only a version shows that the request was carried out. */
  readonly mayBeDryRun?: boolean
  readonly request: ApiRequest
  readonly seenNs: UnixNanos
}

/**
 * A request that an admission webhook saw before the API server carried it out. It may still have been refused, and its version is unknown,
 * so it is not a write; it says who made a write that another source reports.
 */
export interface AdmittedRequest {
  readonly source: 'admission'
  /** On creation without a uid, and without a name if the API server generates one. */
  readonly object: ObjectIdentity
  readonly version: undefined
  /** The prefix of a generated name; '' if the request has a name. */
  readonly generateName: string
  /** The version that the request changes; undefined on creation. */
  readonly versionBefore: bigint | undefined
  /** The facts of the object that is about to be stored; undefined for deletions, and for other objects: scale, bindings. */
  readonly facts: ObjectFacts | undefined
  readonly request: ApiRequest
  readonly seenNs: UnixNanos
}

/** A known object that is missing in a later list: it was deleted while nobody watched. */
export interface MissingObject {
  readonly source: 'list'
  readonly object: ObjectIdentity
  /** The version of the list, at or before which the object was deleted. */
  readonly version: bigint
  readonly seenNs: UnixNanos
}

/** Why a report describes no write. */
export type SkipReason =
  'failed' | 'read' | 'stage' | 'dry_run' | 'heartbeat' | 'event' | 'lease' | 'no_object' | 'unversioned'

/** What a request did. A binding and an eviction are creations of subresources. */
export type Verb = 'create' | 'update' | 'patch' | 'delete'

/** Who made a request, as audit and admission report it. */
export interface Actor {
  /** `alice`, `system:serviceaccount:kube-system:replicaset-controller`. */
  readonly user: string
  /** The user that the request impersonated, which is all that admission sees; undefined if none. */
  readonly impersonated?: string
  /** `kubectl/v1.36.3 (linux/amd64) …`; '' if unknown. */
  readonly userAgent: string
}

/** What audit or admission report about the request that made a version. */
export interface ApiRequest {
  readonly actor: Actor
  readonly verb: Verb
  /** `status`, `scale`, `binding`; '' for the object itself. */
  readonly subresource: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  /** The version that the client had read: from the body of a PUT, or from a deletion's preconditions. */
  readonly readVersion?: bigint
  /** Whether the response has the version. If not, the request is identified by its audit id. */
  readonly tellsVersion: boolean
  /** Of a scaling, whose answer is not the object: how many replicas are wanted. */
  readonly replicas?: number
  /** Where the answer has no version: the field manager that the request named. */
  readonly manager?: string
  /** The audit id of the request. */
  readonly auditId?: string
  /** The W3C trace context of the admission call; the API server's spans of the request have it too. */
  readonly traceparent?: string
}

/** An accepted request that made a version of an object, combined from the reports of all sources of its cluster. */
export interface ClusterWrite {
  readonly object: ObjectIdentity
  /** The version it made; undefined if only an audit log without versions reported the write. */
  readonly version: bigint | undefined
  /** If the version is unknown: the newest version of any object that was reported before the write. */
  readonly after?: bigint | undefined
  /** Whether versions of the object are watched, no watch lags, and none has shown this version. */
  readonly isUnseen?: boolean
  /** Whether its request deleted a collection that no source lists, so that the object may have been deleted before. */
  readonly isOfCollection?: boolean
  /** Whether the write removed the object. */
  readonly gone: boolean
  /** The facts of the version, or of the previous one if no source shows it. */
  readonly facts: ObjectFacts | undefined
  /** Undefined if only a watch saw the write. */
  readonly request: ApiRequest | undefined
  /** When the watch reported it, or a higher version if that came first; or when the request ended. */
  readonly seenNs: UnixNanos
  /** Whether it was first seen in a list (the first or a later one), not as an event. */
  readonly listed: 'first' | 'later' | undefined
  /** The version that the API server was making for a request while it also made this write. */
  readonly within?: { readonly uid: string; readonly version: bigint }
}

/** The object that an Event is about, or its related object, as far as the Event says. */
export interface EventObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The version that the Event's reporter had seen. */
  readonly version?: bigint
}

/** An Event of the API server (events.k8s.io/v1 or core v1): what a controller reports about an object. It is not a write. */
export interface ClusterEvent {
  readonly source: 'event'
  readonly uid: string
  /** The resourceVersion of the Event itself. A higher one repeats it, as part of a series. */
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
  /** What was done to `regarding`, if given. */
  readonly action: string
  /** The reporting controller, such as `replicaset-controller`, and its instance. */
  readonly controller: string
  readonly instance: string
  /** How many times it has happened so far. */
  readonly count: number
  readonly firstNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly seenNs: UnixNanos
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/

/** The trace id and span id of a W3C `traceparent`; undefined if it is invalid. */
export function readTraceparent(text: string): { traceId: Buffer; spanId: bigint } | undefined {
  const [, trace = '', span = ''] = TRACEPARENT.exec(text) ?? []
  if (/^0*$/.test(trace) || /^0*$/.test(span)) return undefined
  return { traceId: Buffer.from(trace, 'hex'), spanId: Buffer.from(span, 'hex').readBigInt64BE(0) }
}

type Told = ObservationBatch['observations']

/** Serializes observations, for other threads and for storage until they are decided. Empty if there are none. */
export function serializeObservations(told: Told): Uint8Array<ArrayBuffer> {
  return told.length === 0 ? new Uint8Array() : new Uint8Array(serialize(told))
}

/** Reverses `serializeObservations`. Throws if the bytes are something else. */
export function deserializeObservations(bytes: Uint8Array): Told {
  const told: unknown = deserialize(bytes)
  if (!Array.isArray(told)) throw new Error('what was told of a cluster cannot be read')
  return told as Told
}

/** Logged once everything that is to be watched in a cluster has been listed: from then on no change is missed. */
export const EVERYTHING_LISTED = 'Everything is listed'
