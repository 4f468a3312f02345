import type { Relation } from './relations.ts'
import type { AttributionSettings } from './write-attribution.ts'

export interface InferenceSettings extends AttributionSettings {
  readonly cluster: string
  readonly relations: readonly Relation[]
}

/** How inference decides, in all watched clusters. */
export interface InferenceRules extends Omit<InferenceSettings, 'cluster'> {
  /** How long streams of other resources may take to catch up. */
  readonly windowMs: number
  /** How long to wait for the writer, if a source reports it. */
  readonly whoWaitMs: number
  /** How long a write waits for its writer's own span, if that program sends such spans. No wait unless given. */
  readonly tellingWaitMs?: number
  /** The sources of each configured cluster. */
  readonly clusters: Readonly<Record<string, ClusterSources>>
}

export interface ClusterSources {
  /** The versions of its objects are reported. */
  readonly versions: boolean
  /** A receiver watches them. Its streams have to catch up after a start. Not unless given. */
  readonly isFollowed?: boolean
  /** The requests that make the versions are reported. */
  readonly requests: boolean
  /** Requests are reported before they are done. They name the user, and come before the versions. Not unless given. */
  readonly admissions?: boolean
}
