// Puts a ConfigMap and a quota into each new namespace. It has no custom resource, and knows nothing of changes. It finds its cluster by
// KUBECONFIG.
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'

interface Namespace {
  readonly metadata: { readonly name: string }
}

const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', 'namespace-starter/v0.3.1')

async function start({ metadata: { name } }: Namespace): Promise<void> {
  const path = `/api/v1/namespaces/${name}`
  await api.create(`${path}/configmaps`, { metadata: { name: 'house-rules' }, data: { team: name } })
  await api.create(`${path}/resourcequotas`, {
    metadata: { name: 'default' },
    spec: { hard: { pods: '20' } },
  })
}

await api.watch(
  '/api/v1/namespaces?watch=true',
  ({ type, object }) => {
    if (type === 'ADDED') void start(object as Namespace).catch(() => undefined)
  },
  new AbortController().signal,
)
