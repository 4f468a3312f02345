// Makes a ConfigMap, a Service and a Deployment for each Cache, which it does not own: `app.kubernetes.io/instance` names it. What belongs
// to no Cache any more it deletes.
import { hash } from 'node:crypto'
import { podSpec, podsOf } from '../manifests.ts'
import { all, apiAs, at, labelled, list, looksAgain, maybe, type Named } from './looks-again.ts'

interface Cache extends Named {
  readonly spec: { readonly memory: number; readonly replicas: number }
  readonly status?: { readonly ready: number }
}
interface Settings extends Named {
  readonly data: { readonly memory: string }
}
interface Deployment extends Named {
  readonly spec: { readonly replicas: number }
  readonly status?: { readonly readyReplicas?: number }
}

const API_VERSION = 'store.example.com/v1'
const PROGRAM = 'cache-operator'
const INSTANCE = 'app.kubernetes.io/instance'
const MANAGED_BY = 'app.kubernetes.io/managed-by'
const PARTS = [
  ['apps/v1', 'deployments'],
  ['v1', 'configmaps'],
  ['v1', 'services'],
] as const

const api = apiAs(PROGRAM)
const CACHES = all(API_VERSION, 'caches')

async function reconcile({ metadata: { namespace, name }, spec, status }: Cache): Promise<void> {
  const code = `c${hash('sha256', `${namespace}/${name}`).slice(0, 8)}`
  const metadata = { name: code, labels: { [INSTANCE]: name, [MANAGED_BY]: PROGRAM } }
  const maps = at('v1', namespace, 'configmaps')
  const services = at('v1', namespace, 'services')
  const deployments = at('apps/v1', namespace, 'deployments')
  const data = { memory: String(spec.memory) }
  const map = await maybe<Settings>(api, `${maps}/${code}`)
  if (map === undefined) await api.create(maps, { metadata, data })
  else if (map.data.memory !== data.memory) await api.replace(`${maps}/${code}`, { ...map, data })
  if ((await maybe<Named>(api, `${services}/${code}`)) === undefined)
    await api.create(services, { metadata, spec: { selector: { app: code }, ports: [{ port: 80 }] } })
  const { replicas } = spec
  const there = await maybe<Deployment>(api, `${deployments}/${code}`)
  if (there === undefined)
    await api.create(deployments, { metadata, spec: { replicas, ...podsOf(code, podSpec('i:1')) } })
  else if (there.spec.replicas !== replicas)
    await api.replace(`${deployments}/${code}`, { ...there, spec: { ...there.spec, replicas } })
  const ready = there?.status?.readyReplicas ?? 0
  if (status?.ready !== ready)
    await api.patch(at(API_VERSION, namespace, 'caches', name, 'status'), { status: { ready } })
}

async function look(): Promise<void> {
  const caches = await list<Cache>(api, CACHES)
  for (const cache of caches) await reconcile(cache)
  const isOf = (part: Named, cache: Named): boolean =>
    part.metadata.namespace === cache.metadata.namespace &&
    part.metadata.labels?.[INSTANCE] === cache.metadata.name
  for (const [apiVersion, resource] of PARTS) {
    const parts = await list<Named>(api, all(apiVersion, resource), labelled(`${MANAGED_BY}=${PROGRAM}`))
    for (const part of parts.filter((one) => !caches.some((cache) => isOf(one, cache)))) {
      const { namespace, name } = part.metadata
      await api.delete(at(apiVersion, namespace, resource, name)).catch(() => undefined)
    }
  }
}

looksAgain(api, [CACHES, all('apps/v1', 'deployments')], look)
