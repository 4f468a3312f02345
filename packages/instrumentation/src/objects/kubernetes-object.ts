import { ownValue } from '../own-value.ts'
const NONE: Readonly<Record<string, unknown>> = {}

/** What is looked at in a Kubernetes object; any client's types fit. */
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

/** The value of an annotation; undefined where there is none or it is not text, whatever the object looks like. */
export function annotationOf(object: KubernetesObject | null | undefined, key: string): string | undefined {
  const annotations = annotationsOf(object)
  const value = ownValue(annotations, key)
  return typeof value === 'string' ? value : undefined
}

/** The annotations as they are; empty where there are none. */
export function annotationsOf(
  object: KubernetesObject | null | undefined,
): Readonly<Record<string, unknown>> {
  return recordIn(object?.metadata?.annotations)
}

/** A copy with no more than what is looked at here, and these annotations. */
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
