// Rolls Deployments out anew when a ConfigMap that they take settings from changes. It has no custom resource, and knows nothing of
// changes. It finds its cluster by KUBECONFIG.
import { createHash } from 'node:crypto'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'

interface ConfigMap {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly data?: object
}

interface Deployment {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly template: { readonly spec: object } }
}

const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', 'settings-reloader/v1.2.0')

async function reload({ metadata: { name, namespace }, data }: ConfigMap): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments`
  const { items } = await api.get<{ items: Deployment[] }>(path)
  const digest = createHash('sha256').update(JSON.stringify(data)).digest('hex').slice(0, 16)
  const annotations = { [`reloader.example.com/${name}`]: digest }
  for (const { metadata, spec } of items)
    if (JSON.stringify(spec.template.spec).includes(`"configMapRef":{"name":"${name}"}`))
      await api.patch(`${path}/${metadata.name}`, { spec: { template: { metadata: { annotations } } } })
}

await api.watch(
  '/api/v1/configmaps?watch=true',
  ({ type, object }) => {
    if (type === 'MODIFIED') void reload(object as ConfigMap)
  },
  new AbortController().signal,
)
