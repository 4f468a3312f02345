import type { UnixNanos } from '../clock.ts'
import type { ObjectFacts, ObjectIdentity } from './object-facts.ts'

/** What a request asked for. A binding and an eviction are creations of subresources. */
export type Verb = 'create' | 'update' | 'patch' | 'delete'

/** Who wrote, as audit and admission say it. */
export interface Actor {
  /** `alice`, `system:serviceaccount:kube-system:replicaset-controller`. */
  readonly user: string
  /** `kubectl/v1.36.3 (linux/amd64) …`; empty where it is not told. */
  readonly userAgent: string
}

/** What audit or admission tell of the request that made a version. */
export interface Request {
  readonly actor: Actor
  readonly verb: Verb
  /** `status`, `scale`, `binding`; empty for the object itself. */
  readonly subresource: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  /** The version that the request says it read: in the body of a PUT, or in a deletion's preconditions. */
  readonly readVersion?: bigint
  /** The answer tells the version that was made; where it does not, the number of the request is what it is known by. */
  readonly tellsVersion: boolean
  /** The API server's own number of the request. */
  readonly auditId?: string
  /** The W3C trace context with which admission was called; API server spans of the request have it. */
  readonly traceparent?: string
}

/** One accepted request that made a version of an object, as far as the sources of its cluster tell. */
export interface Write {
  readonly object: ObjectIdentity
  /** The version that it made; undefined where only an audit log without it told of the write. */
  readonly version: bigint | undefined
  /** Where none is told: the newest version of any object that was told of before. */
  readonly after?: bigint | undefined
  /** The object is gone with it. */
  readonly gone: boolean
  /** Of the version, or where no source shows it of the version before. */
  readonly facts: ObjectFacts | undefined
  /** Undefined where only a watch saw it. */
  readonly request: Request | undefined
  /** When the watch told of it, or of one above it if that was before; or when the request ended. */
  readonly seenNs: UnixNanos
  /** It was there when a list was made, instead of being seen to be written. */
  readonly listed: 'first' | 'later' | undefined
}
