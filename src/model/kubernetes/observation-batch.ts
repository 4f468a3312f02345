import type { Observation, Skipped } from './observation.ts'
import type { ClusterEvent } from './cluster-event.ts'

/** What a source of a cluster told at one time; it is stored whole or not at all. */
export interface ObservationBatch {
  /** The `k8s.cluster.name` of the receiver. */
  readonly cluster: string
  /** Which stream told: the receiver's id, and where it has several, which (`k8s_objects apps/v1/deployments`). */
  readonly stream: string
  readonly observations: readonly (Observation | ClusterEvent)[]
  /** What was read and makes no write, by why; counted. */
  readonly skipped?: Readonly<Partial<Record<Skipped, number>>>
  /**
   * How far the stream is read with this, in the receiver's own words (a resourceVersion, a place in a file); kept with it, so
   * that what was told is neither told again after a restart nor missed.
   */
  readonly position?: string
}
