// Scales the Deployments of a namespace to none while an annotation of it says that it sleeps, and back when it wakes. It has no custom
// resource, knows nothing of changes, and finds its cluster by KUBECONFIG.
import { setTimeout as pause } from 'node:timers/promises'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'

interface Named {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: { readonly replicas: number }
}

const SLEEPS = 'night.example.com/sleeps'
const WAS = 'night.example.com/was'
const LOOKS_EACH_MS = 10_000

const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', 'night-watch/v0.9.0')

async function look({ metadata }: Pick<Named, 'metadata'>): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${metadata.name}/deployments`
  const sleeps = metadata.annotations?.[SLEEPS] === 'yes'
  const { items } = await api.get<{ items: Named[] }>(path)
  for (const { metadata, spec } of items) {
    const was = metadata.annotations?.[WAS]
    const change = (replicas: number, was: string | null): Promise<unknown> =>
      api.patch(`${path}/${metadata.name}`, { metadata: { annotations: { [WAS]: was } }, spec: { replicas } })
    if (sleeps && spec.replicas > 0) await change(0, String(spec.replicas))
    if (!sleeps && was !== undefined) await change(Number(was), null)
  }
}

let last: Promise<void> = Promise.resolve()
const told = (object: object): void => {
  last = last.then(() => look(object as Named)).catch(() => undefined)
}
void api.watch('/api/v1/namespaces?watch=true', ({ object }) => told(object), new AbortController().signal)
for (;;) {
  await pause(LOOKS_EACH_MS)
  const { items } = await api.get<{ items: Named[] }>('/api/v1/namespaces').catch(() => ({ items: [] }))
  for (const one of items) told(one)
}
