import { arrayIn, booleanIn, type Json, objectIn, textIn } from '../objects/object-json.ts'
import { ApiError, type ApiServer } from './api-server.ts'

/** Which objects are listed and watched. */
export interface WatchedResource {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  /** The plural: `deployments`. */
  readonly resource: string
  readonly kind: string
  /** The namespace; empty for all namespaces. */
  readonly namespace: string
  /** In the syntax of the API; empty for all objects. */
  readonly labelSelector: string
  readonly fieldSelector: string
  /** Whether to request only metadata. */
  readonly isMetadataOnly: boolean
}

type Query = Readonly<Record<string, string | number | boolean>>

/** `apps/v1/deployments`, with its namespace and selectors. */
export function nameOfResource(watched: WatchedResource): string {
  const { apiVersion, resource, namespace, labelSelector, fieldSelector } = watched
  return [`${apiVersion}/${resource}`, namespace, labelSelector, fieldSelector]
    .filter((part) => part !== '')
    .join(' ')
}

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

export function acceptOf({ isMetadataOnly }: WatchedResource, what: 'list' | 'watch'): string {
  if (!isMetadataOnly) return 'application/json'
  return `application/json;as=PartialObjectMetadata${what === 'list' ? 'List' : ''};g=meta.k8s.io;v=v1`
}

/** A resource of an API server, in the server's preferred version. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  readonly resource: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly verbs: readonly string[]
}

const AGGREGATED = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(',')
const MAX_BYTES = 33_554_432

/** All resources that can be requested, each once. Throws as `ApiServer.json` does; a group that fails is left out. */
export async function discover(server: ApiServer, signal?: AbortSignal): Promise<ApiResource[]> {
  const found: ApiResource[] = []
  for (const root of ['/api', '/apis']) {
    const asked = { accept: `${AGGREGATED},application/json`, ...(signal && { signal }) }
    const answer = await server.json(root, MAX_BYTES, asked)
    if (textIn(answer, 'kind') === 'APIGroupDiscoveryList') found.push(...aggregated(answer))
    else found.push(...(await oneByOne(server, root, answer, signal)))
  }
  return preferred(found)
}

function aggregated(answer: Json): ApiResource[] {
  return arrayIn(answer, 'items').flatMap((item) => {
    const group = textIn(objectIn(item, 'metadata'), 'name')
    return arrayIn(item, 'versions').flatMap((version) =>
      arrayIn(version, 'resources').map((resource) => ({
        group,
        apiVersion: apiVersionOf(group, textIn(version, 'version')),
        resource: textIn(resource, 'resource'),
        kind: textIn(objectIn(resource, 'responseKind'), 'kind'),
        isNamespaced: textIn(resource, 'scope') === 'Namespaced',
        verbs: textsIn(resource, 'verbs'),
      })),
    )
  })
}

/** Discovery for API servers before 1.27: first the groups, then the resources of each version. */
async function oneByOne(
  server: ApiServer,
  root: string,
  answer: Json,
  signal: AbortSignal | undefined,
): Promise<ApiResource[]> {
  const core = textsIn(answer, 'versions').map((version) => ({ group: '', apiVersion: version }))
  const others = arrayIn(answer, 'groups').flatMap((group) => {
    const best = textIn(objectIn(group, 'preferredVersion'), 'groupVersion')
    const all = arrayIn(group, 'versions').map((version) => textIn(version, 'groupVersion'))
    const inOrder = [best, ...all.filter((version) => version !== best)]
    return inOrder.map((apiVersion) => ({ group: textIn(group, 'name'), apiVersion }))
  })
  const found: ApiResource[] = []
  for (const { group, apiVersion } of [...core, ...others])
    found.push(...(await resourcesOf(server, root, group, apiVersion, signal)))
  return found
}

async function resourcesOf(
  server: ApiServer,
  root: string,
  group: string,
  apiVersion: string,
  signal: AbortSignal | undefined,
): Promise<ApiResource[]> {
  try {
    const list = await server.json(`${root}/${apiVersion}`, MAX_BYTES, { ...(signal && { signal }) })
    return arrayIn(list, 'resources').map((resource) => ({
      group,
      apiVersion,
      resource: textIn(resource, 'name'),
      kind: textIn(resource, 'kind'),
      isNamespaced: booleanIn(resource, 'namespaced'),
      verbs: textsIn(resource, 'verbs'),
    }))
  } catch (error) {
    // If an extension API server is down, its group answers 503. The other groups still count.
    if (error instanceof ApiError) return []
    throw error
  }
}

/** For each resource, the first version that has it. Subresources are left out. */
function preferred(found: readonly ApiResource[]): ApiResource[] {
  const byName = new Map<string, ApiResource>()
  for (const one of found) {
    const name = `${one.group}/${one.resource}`
    if (!one.resource.includes('/') && !byName.has(name)) byName.set(name, one)
  }
  return [...byName.values()]
}

function apiVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

function textsIn(parent: Json, key: string): string[] {
  return arrayIn(parent, key).filter((text) => typeof text === 'string')
}
