import { reasonNotTraced } from '../../src/kube/objects/object-json.ts'

/** The object of a write request to an API server. */
export interface WriteTarget {
  readonly apiVersion: string
  readonly resource: string
  /** Empty for objects of the whole cluster. */
  readonly namespace: string
  /** Empty if the request has the name in its body only. */
  readonly name: string
  readonly subresource: string
  /** The path of the object itself, without a query; empty where it has no name yet. */
  readonly path: string
}

const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
/** Subresources of namespaces: any other path segment after a namespace is a resource in it. */
const OF_NAMESPACES = new Set(['status', 'finalize'])

/** Subresources whose writes make a version of the object. They keep its annotations, whatever the request says. */
const SUBRESOURCES = new Set([
  '',
  ...['status', 'scale', 'eviction', 'resize', 'ephemeralcontainers', 'approval', 'finalize'],
])

/**
 * The target of a write of one traced object; undefined for all other requests: reads, dry runs, reviews, whole collections, requests
 * that are not about objects.
 */
export function writeTarget(method: string, url: string): WriteTarget | undefined {
  if (!WRITES.has(method)) return undefined
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  if (searchParams.has('dryRun')) return undefined
  const [, root, ...parts] = pathname.split('/')
  const versionParts = root === 'api' ? 1 : root === 'apis' ? 2 : 0
  if (versionParts === 0) return undefined
  const apiVersion = parts.splice(0, versionParts).join('/')
  const [first = '', second = '', third = ''] = parts
  // The older form of a watch.
  if (first === 'watch') return undefined
  const isNamespaced =
    first === 'namespaces' && third !== '' && !(parts.length === 3 && OF_NAMESPACES.has(third))
  const [resource = '', name = '', subresource = '', ...more] = isNamespaced ? parts.slice(2) : parts
  if (!SUBRESOURCES.has(subresource)) return undefined
  if (resource === '' || more.length > 0 || reasonNotTraced(apiVersion, resource) !== undefined)
    return undefined
  if (name === '' && method !== 'POST') return undefined
  const namespace = isNamespaced ? decodeURIComponent(second) : ''
  const whole = subresource === '' ? pathname : pathname.slice(0, -subresource.length - 1)
  return {
    apiVersion,
    resource,
    namespace,
    name: decodeURIComponent(name),
    subresource,
    path: name === '' ? '' : whole,
  }
}
