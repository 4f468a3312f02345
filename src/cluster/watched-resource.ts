/** Which objects are listed and watched. */
export interface WatchedResource {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  /** The plural: `deployments`. */
  readonly resource: string
  readonly kind: string
  /** Of one namespace; empty for all. */
  readonly namespace: string
  /** As the API takes them; empty for all objects. */
  readonly labelSelector: string
  readonly fieldSelector: string
  /** The API server is to leave everything out but the metadata. */
  readonly isMetadataOnly: boolean
}

type Query = Readonly<Record<string, string | number | boolean>>

/** `apps/v1/deployments`, and of which namespace and by which selectors. */
export function nameOfResource(watched: WatchedResource): string {
  const { apiVersion, resource, namespace, labelSelector, fieldSelector } = watched
  return [`${apiVersion}/${resource}`, namespace, labelSelector, fieldSelector]
    .filter((part) => part !== '')
    .join(' ')
}

/** Where it is asked for. */
export function pathOfResource(watched: WatchedResource, query: Query): string {
  const { apiVersion, resource, namespace, labelSelector, fieldSelector } = watched
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const within = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value))
  if (labelSelector !== '') parameters.set('labelSelector', labelSelector)
  if (fieldSelector !== '') parameters.set('fieldSelector', fieldSelector)
  return `${group}${within}/${resource}?${parameters.toString()}`
}

/** What is asked for in a list or a watch of it. */
export function acceptOf({ isMetadataOnly }: WatchedResource, what: 'list' | 'watch'): string {
  if (!isMetadataOnly) return 'application/json'
  return `application/json;as=PartialObjectMetadata${what === 'list' ? 'List' : ''};g=meta.k8s.io;v=v1`
}
