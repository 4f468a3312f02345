import { ownValue } from '../own-value.ts'
const NONE: Readonly<Record<string, unknown>> = {}

/** The members of a Kubernetes object that this package reads; the types of any client fit. */
export interface KubernetesObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: KubernetesMetadata | undefined
}

export interface KubernetesMetadata {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** The value of an annotation; undefined if it is missing or not a string, for any object. */
export function annotationOf(object: KubernetesObject | null | undefined, key: string): string | undefined {
  const annotations = annotationsOf(object)
  const value = ownValue(annotations, key)
  return typeof value === 'string' ? value : undefined
}

/** The annotations; empty if there are none. */
export function annotationsOf(
  object: KubernetesObject | null | undefined,
): Readonly<Record<string, unknown>> {
  return recordIn(object?.metadata?.annotations)
}

/** A copy with only the members that this package reads, and these annotations. */
export function trimmedCopy(object: KubernetesObject, annotations: readonly string[]): KubernetesObject {
  const { apiVersion, kind } = object
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {}
  const kept = annotations.flatMap((key) => {
    const value = annotationOf(object, key)
    return value === undefined ? [] : [[key, value] as const]
  })
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, annotations: Object.fromEntries(kept) },
  }
}

/** A value as a record; empty when it is something else. */
export function recordIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as typeof NONE) : NONE
}
