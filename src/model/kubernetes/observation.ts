import type { UnixNanos } from '../clock.ts'
import type { ObjectFacts, ObjectIdentity } from './object-facts.ts'
import type { Request } from './write.ts'

/** What a source told of one version of an object, or of one request. */
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
  /** An event told that the object was made with this version. */
  readonly isNew?: boolean
  readonly gone: boolean
  readonly seenNs: UnixNanos
}

/** A request that the API server accepted, as its audit log or webhook tells. */
export interface AuditedRequest {
  readonly source: 'audit'
  /** The uid is empty where the answer tells none. */
  readonly object: ObjectIdentity
  /** Undefined where the answer tells none: bindings, deletions that are answered with a Status. */
  readonly version: bigint | undefined
  /** Undefined where the answer is not the object: scale, bindings, deletions, or an audit policy without answers. */
  readonly facts: ObjectFacts | undefined
  /** The object is gone with it, as far as the answer tells. */
  readonly gone: boolean
  readonly request: Request
  readonly seenNs: UnixNanos
}

/**
 * A request of which an admission webhook was told before it was done. It may still have been refused, and does not tell the
 * version that it makes: by itself it is no write, but says who made one that another source tells of.
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
  readonly request: Request
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

/** Why something that a source told makes no write. */
export type Skipped =
  'failed' | 'read' | 'stage' | 'dry_run' | 'heartbeat' | 'event' | 'lease' | 'no_object' | 'unversioned'
