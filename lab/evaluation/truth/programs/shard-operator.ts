// Makes a ConfigMap and a StatefulSet for each shard of a ShardedDatabase, which owns them. New settings it rolls out to one shard after the
// other.
import { hash } from 'node:crypto'
import { podSpec } from '../manifests.ts'
import { all, apiAs, at, list, looksAgain, maybe, type Named, ownedBy } from './looks-again.ts'

interface ShardedDatabase extends Named {
  readonly spec: { readonly shards: number; readonly replicas: number; readonly settings: number | string }
  readonly status?: object
}
interface Settings extends Named {
  readonly data: { readonly settings: string }
}
interface StatefulSet extends Named {
  readonly spec: { readonly replicas: number; readonly template: { readonly metadata: Named['metadata'] } }
  readonly status?: {
    readonly readyReplicas?: number
    readonly observedGeneration?: number
    readonly currentRevision?: string
    readonly updateRevision?: string
  }
}

const API_VERSION = 'store.example.com/v1'
const HASH = 'store.example.com/config-hash'

const api = apiAs('shard-operator')
const DATABASES = all(API_VERSION, 'shardeddatabases')

const isReady = ({ metadata, spec, status }: StatefulSet): boolean =>
  status?.readyReplicas === spec.replicas &&
  status.observedGeneration === metadata.generation &&
  status.currentRevision === status.updateRevision

async function reconcile(database: ShardedDatabase): Promise<void> {
  const { metadata, spec } = database
  const { namespace, name, uid } = metadata
  const ownerReferences = ownedBy(API_VERSION, 'ShardedDatabase', database)
  const maps = at('v1', namespace, 'configmaps')
  const sets = at('apps/v1', namespace, 'statefulsets')
  const settings = `${name}-config`
  const data = { settings: String(spec.settings) }
  const map = await maybe<Settings>(api, `${maps}/${settings}`)
  if (map === undefined) await api.create(maps, { metadata: { name: settings, ownerReferences }, data })
  else if (map.data.settings !== data.settings) await api.replace(`${maps}/${settings}`, { ...map, data })

  const want = hash('sha256', JSON.stringify(data)).slice(0, 10)
  const annotations = { [HASH]: want }
  let isBusy = false
  let ready = 0
  for (let shard = 0; shard < spec.shards; shard++) {
    const set = `${name}-shard-${shard}`
    const there = await maybe<StatefulSet>(api, `${sets}/${set}`)
    if (there === undefined) {
      const labels = { app: set }
      const template = { metadata: { labels, annotations }, spec: podSpec('i:1') }
      await api.create(sets, {
        metadata: { name: set, ownerReferences, labels: { shard: String(shard) } },
        spec: { replicas: spec.replicas, serviceName: set, selector: { matchLabels: labels }, template },
      })
      continue
    }
    if (there.spec.replicas !== spec.replicas) {
      await api.patch(`${sets}/${set}`, { spec: { replicas: spec.replicas } })
      isBusy = true
    }
    if (there.spec.template.metadata.annotations?.[HASH] !== want && !isBusy) {
      await api.patch(`${sets}/${set}`, { spec: { template: { metadata: { annotations } } } })
      isBusy = true
    }
    if (isReady(there)) ready++
    else isBusy = true
  }
  const isSurplus = (set: StatefulSet): boolean =>
    set.metadata.ownerReferences?.[0]?.uid === uid && Number(set.metadata.labels?.['shard']) >= spec.shards
  for (const one of (await list<StatefulSet>(api, sets)).filter(isSurplus))
    await api.delete(`${sets}/${one.metadata.name}`)
  const status = { ready, hash: want }
  if (JSON.stringify(database.status) !== JSON.stringify(status))
    await api.patch(at(API_VERSION, namespace, 'shardeddatabases', name, 'status'), { status })
}

async function look(): Promise<void> {
  for (const database of await list<ShardedDatabase>(api, DATABASES)) await reconcile(database)
}

looksAgain(api, [DATABASES, all('apps/v1', 'statefulsets')], look)
