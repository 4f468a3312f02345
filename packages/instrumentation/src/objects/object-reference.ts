import type { KubernetesObject } from './kubernetes-object.ts'
import { ownValue } from '../own-value.ts'

/** The type of an object that lacks it, such as an item of a list. */
export interface ObjectType {
  apiVersion?: string | undefined
  /** The kind of the objects, or of the list they are in: `Pod`, or `PodList` as lists themselves say. */
  kind?: string | undefined
  /** The plural that the API is served under, such as `endpointslices`; derived from the kind unless given. */
  resource?: string | undefined
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
  const kind = kindOf(object, type)
  const resource = type.resource ?? (kind === undefined ? undefined : resourceOfKind(kind))
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

/** The missing part of an object that has no reference. */
export function missingPart(object: KubernetesObject, type: ObjectType = {}): string {
  if (!isText(type.apiVersion ?? object.apiVersion)) return 'apiVersion'
  if (!isText(type.resource) && kindOf(object, type) === undefined) return 'kind'
  return 'name'
}

/** The kind of an object: its own, or else the one of `type`. */
export function kindOf(
  object: KubernetesObject | null | undefined,
  type: ObjectType = {},
): string | undefined {
  if (isText(object?.kind)) return object.kind
  return isText(type.kind) ? type.kind.replace(/(?<=.)List$/, '') : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Kinds with irregular plurals. */
const IRREGULAR: Readonly<Record<string, string>> = { Endpoints: 'endpoints' }

/**
 * The resource that objects of a kind are served as, such as `networkpolicies` for NetworkPolicy: the English plural in
 * lower case, which is a guess for custom resources.
 */
export function resourceOfKind(kind: string): string {
  const irregular = ownValue(IRREGULAR, kind)
  if (irregular !== undefined) return irregular
  const singular = kind.toLowerCase()
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`
  return `${singular}s`
}
