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
  const annotations: unknown = object?.metadata?.annotations
  if (typeof annotations !== 'object' || annotations === null || !Object.hasOwn(annotations, key)) return undefined
  const value = (annotations as Record<string, unknown>)[key]
  return typeof value === 'string' ? value : undefined
}
