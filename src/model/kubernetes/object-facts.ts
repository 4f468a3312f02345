import { ownValue } from '../own-value.ts'

/** An object of a cluster, and which of those that had its name. */
export interface ObjectIdentity {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  /** The plural, as in paths: `pods`. */
  readonly resource: string
  /** Empty for objects of the whole cluster. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface OwnerReference {
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** The one that reconciles it. */
  readonly controller: boolean
}

/** Another object that one names in its content: a Service's EndpointSlice its Pods, an autoscaler what it scales. */
export interface ContentReference {
  /** What it is named as; relations ask for it by this name. */
  readonly field: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  /** What the content says of the other object, to be compared with what versions of that show. */
  readonly says?: string
}

/** An entry of managedFields: who last set some fields, to the second. */
export interface FieldManager {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
  readonly time: string
}

/**
 * What inference needs to know of one version of an object. Nothing else of the object is kept: no data of Secrets and
 * ConfigMaps, no environment, no annotation but those that trace changes.
 */
export interface ObjectFacts {
  readonly generation: number
  readonly owners: readonly OwnerReference[]
  readonly references: readonly ContentReference[]
  readonly managers: readonly FieldManager[]
  /** It has a deletionTimestamp: somebody began to delete it. */
  readonly deleting: boolean
  /** Fingerprints of parts of the content by name; equal where the contents are. */
  readonly prints: Readonly<Record<string, string>>
  /** `causeway.io/cpid`, when it is a CPID. */
  readonly cpid?: string
  /** `causeway.io/ancestor-cpids`, as it stands there. */
  readonly ancestors?: string
  /** `tracing.k8s.io/traceparent`. */
  readonly traceparent?: string
}

/** A fingerprint by its name; undefined where the object has none of that name. */
export function printIn({ prints }: ObjectFacts, name: string): string | undefined {
  return ownValue(prints, name)
}

/** Fingerprints that every object has, and `content`, which those have that name a change. */
export const PRINT = {
  /** All that an author writes: no status, no metadata of the API server. */
  authored: 'authored',
  /** The same without the annotations that name a change; equal to `authored` where there are none. */
  content: 'content',
  /** The status without what only says that its writer lives. */
  status: 'status',
  /** The status with it. */
  heartbeat: 'heartbeat',
} as const
