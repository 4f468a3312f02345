import type { KubernetesObject } from './kubernetes-object.ts'
import { resourceOfKind } from './resource-name.ts'

/** What an object does not say about itself, as the items of a list do not. */
export interface ObjectType {
  apiVersion?: string
  /** The plural that the API is served under, such as `endpointslices`; derived from the kind unless given. */
  resource?: string
}

/**
 * The reference `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>` of an object as it was read
 * or written; uid and rv are left out where the object has none. Undefined when version, resource or name is missing.
 */
export function objectReference(
  object: KubernetesObject | null | undefined,
  type: ObjectType = {},
): string | undefined {
  const apiVersion = type.apiVersion ?? object?.apiVersion
  const resource = type.resource ?? (isText(object?.kind) ? resourceOfKind(object.kind) : undefined)
  const { name, namespace, uid, resourceVersion } = object?.metadata ?? {}
  if (!isText(apiVersion) || !isText(resource) || !isText(name)) return undefined
  const path = isText(namespace)
    ? `${apiVersion}/${resource}/${namespace}/${name}`
    : `${apiVersion}/${resource}/${name}`
  const query: string[] = []
  if (isText(uid)) query.push(`uid=${uid}`)
  if (isText(resourceVersion)) query.push(`rv=${resourceVersion}`)
  return query.length === 0 ? path : `${path}?${query.join('&')}`
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
