// Makes a Deployment and a ConfigMap for each Shop, which the Shop does not own: a label names it. It looks at all of them again every ten
// seconds, and restores what somebody changed. It knows nothing of changes, and finds its cluster by KUBECONFIG.
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'
import type { KubeApi } from '../../../harness/kubernetes/kube-api.ts'
import { podSpec, podsOf } from '../manifests.ts'

const API_VERSION = 'trade.example.com/v1'
const FINALIZER = 'trade.example.com/shop'
const LABEL = 'trade.example.com/shop'
const RESYNC_MS = 10_000

interface Metadata {
  readonly name: string
  readonly namespace: string
  readonly generation: number
  readonly finalizers?: readonly string[]
  readonly deletionTimestamp?: string
}

interface Shop {
  readonly metadata: Metadata
  readonly spec: { readonly replicas: number; readonly discount?: number }
  readonly status?: object
}

interface Part {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec?: { readonly replicas: number }
  readonly data?: object
  readonly status?: { readonly readyReplicas?: number }
}

const api: KubeApi = apiOfKubeconfig(
  process.env['KUBECONFIG'] ?? '',
  'shop-operator/v0.0.0 (linux/amd64) kubernetes/$Format',
)

const shopAt = ({ namespace, name }: Pick<Metadata, 'namespace' | 'name'>): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/shops/${name}`

/** As a generated name: nothing in it is the Shop's. */
const codeOf = ({ namespace, name }: Metadata): string =>
  `s${hash('sha256', `${namespace}/${name}`).slice(0, 8)}`

async function reconcile(key: Pick<Metadata, 'namespace' | 'name'>): Promise<void> {
  const shop = await api.get<Shop>(shopAt(key)).catch(() => undefined)
  if (shop === undefined) return
  const { metadata, spec } = shop
  const { namespace, name, finalizers = [] } = metadata
  const [deployments, maps] = [
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    `/api/v1/namespaces/${namespace}/configmaps`,
  ]
  const code = codeOf(metadata)
  if (metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(FINALIZER)) return
    for (const path of [`${deployments}/${code}`, `${maps}/${code}`])
      await api.delete(path).catch(() => undefined)
    await api.replace(shopAt(key), {
      ...shop,
      metadata: { ...metadata, finalizers: finalizers.filter((one) => one !== FINALIZER) },
    })
    return
  }
  if (!finalizers.includes(FINALIZER)) {
    await api.replace(shopAt(key), {
      ...shop,
      metadata: { ...metadata, finalizers: [...finalizers, FINALIZER] },
    })
    return
  }
  const labels = { [LABEL]: name }
  const data = { discount: String(spec.discount ?? 0) }
  const map = await api.get<Part>(`${maps}/${code}`).catch(() => undefined)
  if (map === undefined) await api.create(maps, { metadata: { name: code, labels }, data })
  else if (JSON.stringify(map.data) !== JSON.stringify(data))
    await api.replace(`${maps}/${code}`, { ...map, data })
  const there = await api.get<Part>(`${deployments}/${code}`).catch(() => undefined)
  if (there === undefined)
    await api.create(deployments, {
      metadata: { name: code, labels },
      spec: { replicas: spec.replicas, ...podsOf(code, podSpec('i:1')) },
    })
  else if (there.spec?.replicas !== spec.replicas)
    await api.replace(`${deployments}/${code}`, {
      ...there,
      spec: { ...there.spec, replicas: spec.replicas },
    })
  const status = { ready: there?.status?.readyReplicas ?? 0, observedGeneration: metadata.generation }
  if (JSON.stringify(shop.status) !== JSON.stringify(status))
    await api.replace(`${shopAt(key)}/status`, { ...shop, status })
}

/** One after the other, and once more where something happened meanwhile. */
let last: Promise<void> = Promise.resolve()
const queued = new Set<string>()
function enqueue(namespace: string, name: string): void {
  const key = `${namespace}/${name}`
  if (queued.has(key)) return
  queued.add(key)
  last = last.then(async () => {
    queued.delete(key)
    await reconcile({ namespace, name }).catch(async () => {
      await pause(1_000)
      enqueue(namespace, name)
    })
  })
}

const forever = new AbortController().signal
void api.watch(
  `/apis/${API_VERSION}/shops?watch=true`,
  ({ object }) => {
    const { metadata } = object as Shop
    enqueue(metadata.namespace, metadata.name)
  },
  forever,
)
void api.watch(
  `/apis/apps/v1/deployments?watch=true&labelSelector=${encodeURIComponent(LABEL)}`,
  ({ object }) => {
    const { metadata } = object as Part & { metadata: { namespace: string } }
    enqueue(metadata.namespace, metadata.labels?.[LABEL] ?? '')
  },
  forever,
)
for (;;) {
  await pause(RESYNC_MS)
  const { items } = await api
    .get<{ items: Shop[] }>(`/apis/${API_VERSION}/shops`)
    .catch(() => ({ items: [] as Shop[] }))
  for (const { metadata } of items) enqueue(metadata.namespace, metadata.name)
}
