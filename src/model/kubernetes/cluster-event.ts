import type { UnixNanos } from '../clock.ts'

/** Which object an Event is about, or names beside it, as far as it says. */
export interface EventObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The version that whoever tells had seen. */
  readonly version?: bigint
}

/** An Event of the API server (events.k8s.io/v1, or core v1): what a controller says of an object. It is no write. */
export interface ClusterEvent {
  readonly source: 'event'
  readonly uid: string
  /** The Event's own version: another one tells of it again, as one of a series. */
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
