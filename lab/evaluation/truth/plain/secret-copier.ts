// Copies each Secret with a label into all namespaces with another one, and takes its copies away again. The copies name their source in a
// label. What somebody does to a copy it sees only when it looks at everything again, every ten seconds. It has no custom resource,
// knows nothing of changes, and finds its cluster by KUBECONFIG.
import { setTimeout as pause } from 'node:timers/promises'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'

interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly data?: object
}
interface List {
  readonly items: readonly Named[]
}

const SPREAD = 'copier.example.com/spread'
const TAKES = 'copier.example.com/takes'
const FROM = 'copier.example.com/from'
const RESYNC_MS = 10_000

const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', 'secret-copier/v2.0.1')

async function copy(): Promise<void> {
  const { items: secrets } = await api.get<List>('/api/v1/secrets')
  const { items: namespaces } = await api.get<List>(
    `/api/v1/namespaces?labelSelector=${encodeURIComponent(TAKES)}`,
  )
  const wanted = new Set<string>()
  for (const { metadata } of namespaces.filter((one) => one.metadata.deletionTimestamp === undefined))
    for (const source of secrets.filter((one) => one.metadata.labels?.[SPREAD] === 'yes')) {
      const { name, namespace } = source.metadata
      wanted.add(`${metadata.name}/${name}`)
      const there = secrets.find(
        (one) => one.metadata.namespace === metadata.name && one.metadata.name === name,
      )
      const path = `/api/v1/namespaces/${metadata.name}/secrets`
      const labels = { [FROM]: `${namespace}.${name}` }
      if (there === undefined) await api.create(path, { metadata: { name, labels }, data: source.data })
      else if (JSON.stringify(there.data) !== JSON.stringify(source.data))
        await api.replace(`${path}/${name}`, { ...there, data: source.data })
    }
  for (const { metadata } of secrets)
    if (metadata.labels?.[FROM] !== undefined && !wanted.has(`${metadata.namespace}/${metadata.name}`))
      await api.delete(`/api/v1/namespaces/${metadata.namespace}/secrets/${metadata.name}`)
}

let last: Promise<void> = Promise.resolve()
const again = (): void => {
  last = last.then(copy).catch(() => undefined)
}
const forever = new AbortController().signal
void api.watch(
  '/api/v1/secrets?watch=true',
  ({ object }) => {
    if ((object as Named).metadata.labels?.[FROM] === undefined) again()
  },
  forever,
)
void api.watch('/api/v1/namespaces?watch=true', again, forever)
for (;;) {
  await pause(RESYNC_MS)
  again()
}
