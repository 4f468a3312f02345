import { change, edit, make, remove } from './deeds.ts'
import { deployment, node, podSpec, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { SeenObject } from './recorder.ts'
import { each } from './stories-with-nodes.ts'
import type { Scene, Story } from './story.ts'

/** The programs act some seconds after what they act on, and what comes of that takes some more. */
const AFTER_PROGRAMS_MS = 9_000
/** They look at everything again after 10 s. */
const AGAIN_MS = 14_000

interface Labelled extends SeenObject {
  readonly metadata: SeenObject['metadata'] & { readonly labels?: Readonly<Record<string, string>> }
}

/** What users do with custom resources of one kind in the namespace of a story. */
class Kind {
  readonly #apiVersion: string
  readonly #kind: string
  readonly #plural: string

  constructor(apiVersion: string, kind: string, plural: string) {
    this.#apiVersion = apiVersion
    this.#kind = kind
    this.#plural = plural
  }

  at({ name }: Scene, ...path: string[]): string {
    return [`/apis/${this.#apiVersion}/namespaces/${name}/${this.#plural}`, ...path].join('/')
  }

  make(scene: Scene, name: string, spec: object): ReturnType<typeof make> {
    const [apiVersion, kind] = [this.#apiVersion, this.#kind]
    return make(this.at(scene), { apiVersion, kind, metadata: { name }, spec })
  }

  change(scene: Scene, name: string, spec: object): ReturnType<typeof change> {
    return change(this.at(scene, name), { spec })
  }

  remove(scene: Scene, name: string): ReturnType<typeof remove> {
    return remove(this.at(scene, name))
  }
}

const RESTARTS = new Kind('ops.example.com/v1', 'Restart', 'restarts')
const CANARIES = new Kind('ops.example.com/v1', 'Canary', 'canaries')
const CACHES = new Kind('store.example.com/v1', 'Cache', 'caches')
const DATABASES = new Kind('store.example.com/v1', 'ShardedDatabase', 'shardeddatabases')
const AUTHORITIES = new Kind('pki.example.com/v1', 'Authority', 'authorities')
const LEAVES = new Kind('pki.example.com/v1', 'Leaf', 'leafs')

/** The name of the Deployment of an instance, which nobody can guess. */
async function deploymentOf({ list }: Scene, instance: string): Promise<string> {
  const all = await list<Labelled>('deployments')
  const one = all.find(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === instance)
  if (one === undefined) throw new Error(`${instance} has no Deployment`)
  return one.metadata.name
}

/** A Job that waits until a program lets it run. */
const job = (name: string): object => ({
  metadata: { name, labels: { 'batch.example.com/queue': 'main' } },
  spec: { suspend: true, template: { spec: { ...podSpec('i:1'), restartPolicy: 'Never' } } },
})

/** For a cluster in which the programs of lab/evaluation/truth/programs run. */
export const STORIES_WITH_PROGRAMS: readonly Story[] = [
  {
    name: 'ea-retired',
    hasNodes: true,
    play: async ({ step, at }) => {
      const [pool, retired] = [{ pool: 'ea' }, withLabels({ 'retire.example.com/now': 'yes' })]
      await step('alice', 'add nodes', (api) =>
        each(['ea-a', 'ea-b', 'ea-c'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step(
        'bob',
        'create deployment web x4',
        make(at('deployments'), deployment('web', { replicas: 4, nodeSelector: pool })),
      )
      await step('carol', 'retire ea-a', change(at('nodes', 'ea-a'), retired), AFTER_PROGRAMS_MS)
      await step(
        'alice',
        'scale to 5',
        change(at('deployments', 'web', 'scale'), withReplicas(5)),
        AFTER_PROGRAMS_MS,
      )
      await step('bob', 'retire ea-b', change(at('nodes', 'ea-b'), retired), AFTER_PROGRAMS_MS)
      await step('alice', 'delete deployment web', remove(at('deployments', 'web')))
      await step('carol', 'delete the last node', remove(at('nodes', 'ea-c')))
    },
  },
  {
    name: 'eb-moved',
    hasNodes: true,
    play: async ({ step, at, pods }) => {
      const pool = { pool: 'eb' }
      const taints = [{ key: 'story', value: 'eb', effect: 'NoSchedule' }]
      await step('alice', 'add nodes', (api) =>
        each(['eb-a', 'eb-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step(
        'bob',
        'create deployment web x3',
        make(at('deployments'), deployment('web', { replicas: 3, nodeSelector: pool })),
        AFTER_PROGRAMS_MS,
      )
      const left = (await pods())[0]?.spec.nodeName ?? ''
      await step('carol', `taint ${left}`, change(at('nodes', left), { spec: { taints } }), AFTER_PROGRAMS_MS)
      await step(
        'alice',
        'take it away',
        change(at('nodes', left), { spec: { taints: null } }),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'bob',
        'scale to 5',
        change(at('deployments', 'web', 'scale'), withReplicas(5)),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'carol',
        `taint ${left} again`,
        change(at('nodes', left), { spec: { taints } }),
        AFTER_PROGRAMS_MS,
      )
      await step('bob', 'delete deployment web', remove(at('deployments', 'web')))
      await step('alice', 'delete both nodes', (api) =>
        each(['eb-a', 'eb-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'ec-restarted',
    play: async (scene) => {
      const { step, at } = scene
      await step(
        'alice',
        'create deployment web x3',
        make(at('deployments'), deployment('web', { replicas: 3 })),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'bob',
        'create restart r',
        RESTARTS.make(scene, 'r', { deployment: 'web', round: 1 }),
        AFTER_PROGRAMS_MS,
      )
      await step('carol', 'another round', RESTARTS.change(scene, 'r', { round: 2 }), AFTER_PROGRAMS_MS)
      await step(
        'alice',
        'scale to 4',
        change(at('deployments', 'web', 'scale'), withReplicas(4)),
        AFTER_PROGRAMS_MS,
      )
      await step('bob', 'a third round', RESTARTS.change(scene, 'r', { round: 3 }), AFTER_PROGRAMS_MS)
    },
  },
  {
    name: 'ed-cache',
    play: async (scene) => {
      const { step, at, running } = scene
      await step('alice', 'create cache a', CACHES.make(scene, 'a', { memory: 1, replicas: 1 }))
      await running(1)
      await step('bob', 'more memory', CACHES.change(scene, 'a', { memory: 2 }), AFTER_PROGRAMS_MS)
      await step(
        'carol',
        'create cache sessions',
        CACHES.make(scene, 'sessions', { memory: 1, replicas: 2 }),
        AFTER_PROGRAMS_MS,
      )
      await step('alice', 'scale cache a to 2', CACHES.change(scene, 'a', { replicas: 2 }), AFTER_PROGRAMS_MS)
      const web = await deploymentOf(scene, 'a')
      await step(
        'bob',
        'scale its deployment by hand',
        change(at('deployments', web, 'scale'), withReplicas(3)),
        AGAIN_MS,
      )
      await step('carol', 'delete its configmap', remove(at('configmaps', web)), AGAIN_MS)
      await step('alice', 'delete cache sessions', CACHES.remove(scene, 'sessions'), AGAIN_MS)
      await step('bob', 'delete cache a', CACHES.remove(scene, 'a'), AGAIN_MS)
    },
  },
  {
    name: 'ee-summed',
    play: async ({ name, step, at }) => {
      await step(
        'alice',
        'create deployment web x1',
        make(at('deployments'), deployment('web', { replicas: 1 })),
      )
      await step(
        'bob',
        'let it be summed up',
        change(`/api/v1/namespaces/${name}`, withLabels({ inventory: 'yes' })),
      )
      await step(
        'carol',
        'create deployment api x1',
        make(at('deployments'), deployment('api', { replicas: 1 })),
      )
      await step('alice', 'create service web', make(at('services'), service('web')))
      await step('bob', 'scale web to 3', change(at('deployments', 'web', 'scale'), withReplicas(3)))
      await step('carol', 'delete deployment api', remove(at('deployments', 'api')))
      await step('alice', 'delete the inventory', remove(at('configmaps', 'inventory')), AGAIN_MS)
      await step('bob', 'delete service web', remove(at('services', 'web')))
      await step(
        'carol',
        'sum no more',
        change(`/api/v1/namespaces/${name}`, withLabels({ inventory: null })),
      )
    },
  },
  {
    name: 'ef-shards',
    play: async (scene) => {
      const { step, at } = scene
      await step(
        'alice',
        'create database orders',
        DATABASES.make(scene, 'orders', { shards: 2, replicas: 2, settings: 1 }),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'bob',
        'change its settings',
        DATABASES.change(scene, 'orders', { settings: 2 }),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'carol',
        'delete a Pod by hand',
        (api) => api.delete(at('pods', 'orders-shard-0-1')),
        AFTER_PROGRAMS_MS,
      )
      await step('alice', 'three shards', DATABASES.change(scene, 'orders', { shards: 3 }), AFTER_PROGRAMS_MS)
      await step(
        'bob',
        'settings once more',
        DATABASES.change(scene, 'orders', { settings: 3 }),
        AFTER_PROGRAMS_MS,
      )
      await step('carol', 'one shard', DATABASES.change(scene, 'orders', { shards: 1 }), AFTER_PROGRAMS_MS)
      await step(
        'alice',
        'edit the configmap by hand',
        change(at('configmaps', 'orders-config'), { data: { settings: 'x' } }),
        AGAIN_MS,
      )
      await step('bob', 'delete it', DATABASES.remove(scene, 'orders'), AFTER_PROGRAMS_MS)
    },
  },
  {
    name: 'eg-issued',
    play: async (scene) => {
      const { step, at } = scene
      await step(
        'alice',
        'create namespace eg-other',
        make('/api/v1/namespaces', { metadata: { name: 'eg-other' } }),
      )
      await step('bob', 'create authority root', AUTHORITIES.make(scene, 'root', { rotation: 1 }))
      await step(
        'carol',
        'create leaf web',
        LEAVES.make(scene, 'web', {
          issuerRef: { name: 'root' },
          secretName: 'web-tls',
          host: 'web',
          copyTo: ['eg-other'],
        }),
      )
      await step('alice', 'rotate the authority', AUTHORITIES.change(scene, 'root', { rotation: 2 }))
      await step('bob', 'change the host', LEAVES.change(scene, 'web', { host: 'www' }))
      await step(
        'carol',
        'edit the copy',
        change('/api/v1/namespaces/eg-other/secrets/web-tls', { data: { v: 'eA==' } }),
        AGAIN_MS,
      )
      await step('alice', 'delete the leaf secret', remove(at('secrets', 'web-tls')), AGAIN_MS)
      await step(
        'bob',
        'change the CA secret',
        change(at('secrets', 'root-ca'), { data: { v: 'eA==' } }),
        AGAIN_MS,
      )
      await step('carol', 'copy no more', LEAVES.change(scene, 'web', { copyTo: [] }))
      await step('alice', 'delete leaf and authority', async (api) => [
        await api.delete(LEAVES.at(scene, 'web')),
        await api.delete(AUTHORITIES.at(scene, 'root')),
      ])
    },
  },
  {
    name: 'eh-meshed',
    play: async ({ name, step, at }) => {
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step(
        'bob',
        'mesh on',
        change(`/api/v1/namespaces/${name}`, withLabels({ mesh: 'on' })),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'carol',
        'create deployment api x1',
        make(at('deployments'), deployment('api', { replicas: 1 })),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'alice',
        'create mesh-config',
        make(at('configmaps'), { metadata: { name: 'mesh-config' }, data: { version: '2' } }),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'bob',
        'image i:2 of web',
        edit(at('deployments', 'web'), withImage('i:2')),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'carol',
        'change mesh-config',
        change(at('configmaps', 'mesh-config'), { data: { version: '3' } }),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'alice',
        'mesh off',
        change(`/api/v1/namespaces/${name}`, withLabels({ mesh: null })),
        AFTER_PROGRAMS_MS,
      )
    },
  },
  {
    name: 'ei-canary',
    play: async (scene) => {
      const { step, at } = scene
      await step(
        'alice',
        'create deployment web x4',
        make(at('deployments'), deployment('web', { replicas: 4 })),
        AFTER_PROGRAMS_MS,
      )
      await step(
        'bob',
        'create canary c',
        CANARIES.make(scene, 'c', { target: 'web', image: 'i:2', weight: 25 }),
        AFTER_PROGRAMS_MS,
      )
      await step('carol', 'half of it', CANARIES.change(scene, 'c', { weight: 50 }), AFTER_PROGRAMS_MS)
      await step('alice', 'another image', CANARIES.change(scene, 'c', { image: 'i:3' }), AFTER_PROGRAMS_MS)
      await step(
        'bob',
        'scale web by hand',
        change(at('deployments', 'web', 'scale'), withReplicas(4)),
        AGAIN_MS,
      )
      await step('carol', 'delete the canary', CANARIES.remove(scene, 'c'), AFTER_PROGRAMS_MS)
    },
  },
  {
    name: 'ej-admitted',
    play: async ({ step, at }) => {
      await step(
        'alice',
        'create queue main',
        make(at('configmaps'), {
          metadata: { name: 'main', labels: { 'batch.example.com/is-queue': 'yes' } },
          data: { slots: '1' },
        }),
      )
      await step('bob', 'create job j1', make(at('jobs'), job('j1')), AFTER_PROGRAMS_MS)
      await step('carol', 'no slots', change(at('configmaps', 'main'), { data: { slots: '0' } }))
      await step('alice', 'create job j2', make(at('jobs'), job('j2')))
      await step('bob', 'create job j3', make(at('jobs'), job('j3')))
      await step(
        'carol',
        'two slots',
        change(at('configmaps', 'main'), { data: { slots: '2' } }),
        AFTER_PROGRAMS_MS,
      )
      await step('alice', 'delete the jobs', async (api) =>
        each(['j1', 'j2', 'j3'], (one) => api.delete(at('jobs', one), { propagationPolicy: 'Background' })),
      )
    },
  },
]
