import type { ObjectType } from '../objects/object-reference.ts'

/** The object of a request to an API server. */
export interface RequestTarget extends ObjectType {
  readonly verb: 'get' | 'create' | 'update' | 'patch' | 'delete'
  /** Whether a patch is a server-side apply. */
  readonly isApply: boolean
  readonly apiVersion: string
  readonly resource: string
  readonly namespace: string | undefined
  /** Undefined for a whole collection. */
  readonly name: string | undefined
  readonly subresource: string | undefined
  /** Whether it is a dry run. */
  readonly isDryRun: boolean
}

const VERBS = new Map<string, RequestTarget['verb']>([
  ['GET', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])
/** As YAML or CBOR. */
const APPLY = 'application/apply-patch+'
/** Subresources of namespaces: any other path segment after a namespace is a resource in it. */
const OF_NAMESPACES = new Set(['status', 'finalize'])
/** Subresources that store nothing. */
const ASIDE = new Set(['token', 'exec', 'attach', 'portforward', 'proxy', 'log'])

/** Reads a request; undefined if it is not about objects, such as discovery. */
export function requestTarget(method: string, url: string, contentType = ''): RequestTarget | undefined {
  const verb = VERBS.get(method)
  const { pathname, searchParams } = new URL(url)
  const path = /\/(?:api\/(v[^/]+)|apis\/([^/]+\/v[^/]+))\/(.+?)\/?$/.exec(pathname)
  const apiVersion = path?.[1] ?? path?.[2]
  if (verb === undefined || apiVersion === undefined) return undefined
  const parts = (path?.[3] ?? '').split('/').map(decodeURIComponent)
  const [first, second, third] = parts
  const isInNamespace = first === 'namespaces' && third !== undefined && !OF_NAMESPACES.has(third)
  const [resource, name, ...subresource] = isInNamespace ? parts.slice(2) : parts
  if (resource === undefined || resource === 'watch') return undefined
  return {
    verb,
    isApply: verb === 'patch' && contentType.startsWith(APPLY),
    apiVersion,
    resource,
    namespace: isInNamespace ? second : undefined,
    name,
    subresource: subresource.length === 0 ? undefined : subresource.join('/'),
    isDryRun: searchParams.has('dryRun'),
  }
}

/** As in `update apps/v1/deployments/status`. */
export function nameOf({ verb, isApply, apiVersion, resource, subresource }: RequestTarget): string {
  return [`${isApply ? 'apply' : verb} ${apiVersion}/${resource}`, subresource]
    .filter((part) => part !== undefined)
    .join('/')
}

/** Resources that are written all the time or not stored, and take part in no change. */
export function isNeverTraced({ apiVersion, resource, subresource }: RequestTarget): boolean {
  // A proxy subresource is followed by the path behind the proxy.
  const [through = ''] = subresource?.split('/') ?? []
  return (
    ASIDE.has(through) ||
    (apiVersion.startsWith('coordination.k8s.io/') && resource === 'leases') ||
    resource === 'events' ||
    /^(?:authentication|authorization)\.k8s\.io\//.test(apiVersion)
  )
}
