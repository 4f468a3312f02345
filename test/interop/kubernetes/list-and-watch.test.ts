import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { Flows } from '../../../src/receiver/flows.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import { startReceiver } from '../../../src/receiver/k8s-objects/start-k8s-objects.ts'
import type { RunningReceiver } from '../../../src/receiver/receiver-type.ts'
import { MemoryObservations } from '../../receiver/kubernetes/support/memory-observations.ts'
import { sceneTest } from '../support/scene.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
/** Lists whose objects must be known exactly as they are. */
const COMPARED = {
  configmaps: '/api/v1/configmaps',
  clusterroles: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  nodes: '/api/v1/nodes',
  secrets: '/api/v1/secrets',
}

interface ObjectList {
  items: { metadata: { uid: string; resourceVersion: string } }[]
}

class Watcher {
  readonly port = new MemoryObservations()
  readonly troubles: string[] = []
  started: string[] = []

  async start(kubeconfig: string): Promise<RunningReceiver> {
    const none = (): void => undefined
    this.started = []
    const settings = {
      cluster: 'real',
      authType: 'kubeConfig' as const,
      kubeconfig,
      objects: [],
      namespaces: [],
    }
    return await startReceiver(
      {
        ...{ id: 'k8s_objects', type: 'k8s_objects', listeners: [], signals: ['traces'] },
        settings: { ...settings, discoveryIntervalMs: 1_000 },
      },
      {
        ingestPort: { ingest: () => Promise.reject(new Error('nothing is sent here')) },
        observationPort: this.port,
        reading: { references: [], fieldValues: 'plain' },
        observer: { answered: none, unauthenticated: none, dropped: none, unread: none },
        clusterObserver: {
          ...{ recorded: none, skipped: none, unreadable: none, lost: none, behind: none },
          ...{ unreadable: none, relisted: none, watched: none, refused: none },
        },
        inFlight: new InFlight(1),
        flows: new Flows({ maxRequests: 1, maxBytes: 1, maxBytesAlone: 1 }),
        memory: { isRefusing: false },
        ...{ maxConnections: 1, maxConnectionsPerAddress: 1, requestTimeoutMs: 0, shutdownGraceMs: 0 },
        authenticatorOf: () => ({}),
        started: (what) => this.started.push(what),
        onTrouble: (reason) => this.troubles.push(reason),
        onWarning: () => undefined,
      },
    )
  }

  /** `uid@version` of what is known of a resource. */
  known(resource: string): string[] {
    const held = [...this.port.known.values()].filter(({ identity }) => identity.resource === resource)
    return held.map(({ identity, version }) => `${identity.uid}@${version}`).sort()
  }
}

sceneTest(
  'a real API server is listed and watched, through its restart and a history that is gone',
  async (scene) => {
    const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster'), { nodes: 1 }))
    const watcher = new Watcher()
    const api = cluster.api()
    const make = (name: string): Promise<unknown> =>
      api.create(CONFIG_MAPS, { metadata: { name }, data: { a: '1' } })
    const asItIs = (): Promise<void> =>
      scene.eventually(async () => {
        for (const [resource, path] of Object.entries(COMPARED)) {
          const { items } = await api.get<ObjectList>(path)
          const there = items.map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`)
          expect(watcher.known(resource)).toEqual(there.sort())
        }
      })
    const told = (name: string, source: string): boolean =>
      watcher.port.told.some((one) => one.object.name === name && one.source === source)

    const running = await watcher.start(cluster.kubeconfig())
    await scene.eventually(() => expect(watcher.started).toContain('Everything is listed'))
    expect(new Set(watcher.port.told.map(({ object }) => object.resource)).size).toBeGreaterThan(12)
    await make('first')
    await make('second')
    await api.create('/api/v1/namespaces/default/secrets', {
      metadata: { name: 'quiet' },
      data: { key: 'c2VjcmV0' },
    })
    await asItIs()
    expect(watcher.troubles).toEqual([])
    const first = watcher.port.told.find(({ object }) => object.name === 'first')
    expect(first).toMatchObject({ source: 'watch', by: 'event', object: { resource: 'configmaps' } })

    await cluster.restartApiServer()
    await make('third')
    await asItIs()
    await running[Symbol.asyncDispose]()

    await cluster.kubectl('admin', 'delete', 'configmap', 'first')
    await make('fourth')
    await cluster.compact()
    await cluster.restartApiServer()
    const again = await watcher.start(cluster.kubeconfig())
    await asItIs()
    expect([told('first', 'list'), told('second', 'list')]).toEqual([true, false])
    expect(watcher.port.told.find(({ object }) => object.name === 'fourth')).toMatchObject({
      by: 'later list',
    })
    await again[Symbol.asyncDispose]()
  },
)
