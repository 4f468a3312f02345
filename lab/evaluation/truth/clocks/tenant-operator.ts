// Makes a ConfigMap, a ResourceQuota and a Deployment for each Tenant, which it does not own, and takes them away one after the other
// before it lets a deleted Tenant go.
import { podSpec, podsOf } from '../manifests.ts'
import { all, apiAs, at, list, looksAgain, maybe, type Named } from '../programs/looks-again.ts'

interface Tenant extends Named {
  readonly metadata: Named['metadata'] & { readonly finalizers?: readonly string[] }
  readonly spec: { readonly replicas: number; readonly color: string }
  readonly status?: { readonly ready: number }
}
interface Deployment extends Named {
  readonly spec: { readonly replicas: number }
  readonly status?: { readonly readyReplicas?: number }
}
interface Settings extends Named {
  readonly data?: { readonly color?: string }
}

const API_VERSION = 'tenants.example.com/v1'
const HELD = 'tenants.example.com/clean-up'
const TENANTS = all(API_VERSION, 'tenants')
const api = apiAs('tenant-operator')

async function reconcile({ metadata, spec, status }: Tenant): Promise<void> {
  const { namespace, name, deletionTimestamp, finalizers = [] } = metadata
  const path = at(API_VERSION, namespace, 'tenants', name)
  const [deployments, maps, quotas] = [
    at('apps/v1', namespace, 'deployments'),
    at('v1', namespace, 'configmaps'),
    at('v1', namespace, 'resourcequotas'),
  ]
  const [app, map] = [`run-${name}`, `colors-${name}`]
  const labels = { 'tenants.example.com/tenant': name }
  if (deletionTimestamp !== undefined) {
    for (const one of [`${deployments}/${app}`, `${quotas}/${app}`, `${maps}/${map}`])
      if ((await maybe(api, one)) !== undefined) {
        await api.delete(one)
        return
      }
    await api.patch(path, { metadata: { finalizers: null } })
    return
  }
  if (!finalizers.includes(HELD)) await api.patch(path, { metadata: { finalizers: [HELD] } })
  const settings = await maybe<Settings>(api, `${maps}/${map}`)
  const data = { color: spec.color }
  if (settings === undefined) await api.create(maps, { metadata: { name: map, labels }, data })
  else if (settings.data?.color !== spec.color) await api.patch(`${maps}/${map}`, { data })
  if ((await maybe(api, `${quotas}/${app}`)) === undefined)
    await api.create(quotas, {
      metadata: { name: app, labels },
      spec: { hard: { pods: '8', configmaps: '20' } },
    })
  const there = await maybe<Deployment>(api, `${deployments}/${app}`)
  const { replicas } = spec
  if (there === undefined)
    await api.create(deployments, {
      ...{ metadata: { name: app, labels }, spec: { replicas, ...podsOf(app, podSpec('i:1')) } },
    })
  else if (there.spec.replicas !== replicas) await api.patch(`${deployments}/${app}`, { spec: { replicas } })
  const ready = there?.status?.readyReplicas ?? 0
  if (status?.ready !== ready) await api.patch(`${path}/status`, { status: { ready } })
}

looksAgain(
  api,
  [TENANTS, all('apps/v1', 'deployments'), all('v1', 'configmaps'), all('v1', 'resourcequotas')],
  async () => {
    for (const tenant of await list<Tenant>(api, TENANTS)) await reconcile(tenant)
  },
)
