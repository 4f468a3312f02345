import type { Location } from './api-client.ts'
import type { Resource } from './kube-objects.ts'
import { RESOURCE_TYPES } from './resource-types.ts'

/** What a path of the Kubernetes API leads to. */
export interface Target {
  resource: Resource
  /** Undefined for all namespaces. */
  namespace: string | undefined
  /** Undefined for a collection. */
  name: string | undefined
  isStatus: boolean
}

/** The path of a collection, in all namespaces or in one, or of an object. */
export function pathOf(resource: Resource, at: Partial<Location> = {}): string {
  const parts = [...partsOf(resource, at.namespace), ...(at.name === undefined ? [] : [at.name])]
  return `/${parts.map(encodeURIComponent).join('/')}`
}

/** Undefined for a path that the API server does not have. */
export function readPath(path: string): Target | undefined {
  const parts = decoded(path)
  for (const resource of Object.keys(RESOURCE_TYPES) as Resource[]) {
    const { isNamespaced } = RESOURCE_TYPES[resource]
    const all = partsOf(resource, undefined)
    if (isUnder(all, parts) && parts.length <= (isNamespaced ? all.length : all.length + 2)) {
      return target(resource, isNamespaced ? undefined : '', parts.slice(all.length))
    }
    const namespace = parts[all.length]
    if (!isNamespaced || parts[all.length - 1] !== 'namespaces' || !namespace) continue
    const inOne = partsOf(resource, namespace)
    if (isUnder(inOne, parts)) return target(resource, namespace, parts.slice(inOne.length))
  }
  return undefined
}

function target(
  resource: Resource,
  namespace: string | undefined,
  [name, subresource, ...others]: string[],
): Target | undefined {
  if (others.length > 0 || name === '') return undefined
  if (subresource !== undefined && subresource !== 'status') return undefined
  return { resource, namespace, name, isStatus: subresource === 'status' }
}

function partsOf(resource: Resource, namespace: string | undefined): string[] {
  const [plural = '', version = '', group] = resource.split('/').reverse()
  const isInNamespace = namespace !== undefined && RESOURCE_TYPES[resource].isNamespaced
  return [
    ...(group === undefined ? ['api', version] : ['apis', group, version]),
    ...(isInNamespace ? ['namespaces', namespace] : []),
    plural,
  ]
}

function isUnder(beginning: readonly string[], parts: readonly string[]): boolean {
  return beginning.every((part, at) => parts[at] === part)
}

function decoded(path: string): string[] {
  try {
    return path.slice(1).split('/').map(decodeURIComponent)
  } catch {
    return []
  }
}
