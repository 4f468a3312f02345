import type { InferenceSettings } from './decide.ts'

/** How inference decides, in all clusters that are watched. */
export interface InferenceRules extends Omit<InferenceSettings, 'cluster'> {
  /** How long streams of other resources may take to catch up. */
  readonly windowMs: number
  /** How long it is waited for who wrote, where a source tells. */
  readonly whoWaitMs: number
  /** What is seen of each cluster that is configured. */
  readonly clusters: Readonly<Record<string, SeenOfCluster>>
}

export interface SeenOfCluster {
  /** The versions of its objects. */
  readonly versions: boolean
  /** A receiver watches them, whose streams have to catch up first after a start; not unless given. */
  readonly isFollowed?: boolean
  /** The requests that make them. */
  readonly requests: boolean
  /** The requests that are about to be done: they say who, and come before the versions. Not unless given. */
  readonly admissions?: boolean
}
