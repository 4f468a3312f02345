import type { ObjectIdentity } from '../kubernetes/object-facts.ts'
import type { ObservationBatch } from '../kubernetes/observation-batch.ts'

/**
 * What became of a telling.
 * - stored: it is durable. What was known already changes nothing.
 * - busy: nothing was stored, since too much waits to be decided; tell it again after `retryAfterMs`.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); tell it again.
 */
export type ObservationOutcome =
  | { kind: 'stored' }
  | { kind: 'busy'; retryAfterMs: number; reason: string }
  | { kind: 'failed'; reason: string }

/** An object that is known and not gone, and its newest version. */
export interface HeldObject {
  readonly identity: ObjectIdentity
  readonly version: bigint
}

/** Which of the objects that are known are asked for. */
export interface AskedHeld {
  readonly cluster: string
  readonly apiVersion: string
  readonly resource: string
  /** Those whose uids come after it. */
  readonly after: string
}

/** Takes what receivers see of clusters. Never rejects, unless it says so. */
export interface ObservationPort {
  /** Resolves once it is durable. Tellings of one stream are stored in the order in which they are handed over. */
  tell(telling: ObservationBatch): Promise<ObservationOutcome>
  /**
   * A receiver that watches a cluster has, or no longer has, streams that may be behind the others: what is told meanwhile may follow
   * from what is still to come, and is decided later, though not for long.
   */
  behind(cluster: string, receiver: string, isBehind: boolean): void
  /** How far a stream of a cluster was read; undefined when it never was. Rejects when the store cannot be read. */
  position(cluster: string, stream: string): Promise<string | undefined>
  /**
   * The objects of a resource (`apps/v1`, `deployments`) that are known and not gone, by their uids, at most 1,000 after the uid
   * `after` ('' from the first). By them a list shows what vanished while nobody looked. Rejects when the store cannot be read.
   */
  held(cluster: string, apiVersion: string, resource: string, after: string): Promise<readonly HeldObject[]>
}
