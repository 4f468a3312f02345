import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { eventually } from '../../../lab/harness/eventually.ts'
import { freePort } from '../../../lab/harness/free-ports.ts'
import type { Examination } from '../../../src/config/component-type.ts'
import { Flows } from '../../../src/receiver/flows.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import {
  k8sObjectsReceiver,
  type K8sObjectsSettings,
} from '../../../src/receiver/k8s-objects/k8s-objects-receiver.ts'
import type { ReceiverHost, RunningReceiver } from '../../../src/receiver/receiver-type.ts'
import { answerStatus, type ServedResource, TestApiServer } from '../../cluster/support/test-api-server.ts'
import { MemoryObservations } from './support/memory-observations.ts'

const RESOURCES: ServedResource[] = [
  { group: '', version: 'v1', resource: 'pods', kind: 'Pod' },
  { group: '', version: 'v1', resource: 'secrets', kind: 'Secret' },
  { group: '', version: 'v1', resource: 'events', kind: 'Event' },
  { group: '', version: 'v1', resource: 'bindings', kind: 'Binding', verbs: ['create'] },
  { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', kind: 'Lease' },
  { group: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment' },
]

let directory: string
let kubeconfig: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'causeway-objects-'))
  kubeconfig = join(directory, 'config')
})
afterEach(() => rmSync(directory, { recursive: true }))

function settingsFor(server: string, others: Partial<K8sObjectsSettings> = {}): K8sObjectsSettings {
  const cluster = { name: 'c', cluster: { server } }
  const context = { name: 'x', context: { cluster: 'c', user: '' } }
  writeFileSync(
    kubeconfig,
    JSON.stringify({ 'current-context': 'x', clusters: [cluster], contexts: [context] }),
  )
  const asked = { cluster: 'test', authType: 'kubeConfig' as const, kubeconfig }
  return { ...asked, objects: [], namespaces: [], discoveryIntervalMs: 20, ...others }
}

class Host {
  readonly port = new MemoryObservations()
  readonly troubles: string[] = []
  readonly started: Record<string, string>[] = []
  refused = 0
  relisted = 0

  given(): ReceiverHost {
    const none = (): void => undefined
    return {
      ingestPort: { ingest: () => Promise.reject(new Error('nothing is sent here')) },
      observationPort: this.port,
      reading: { references: [], fieldValues: 'plain' },
      observer: { answered: none, unauthenticated: none, dropped: none, unread: none },
      clusterObserver: {
        ...{
          recorded: none,
          skipped: none,
          unreadable: none,
          relisted: () => this.relisted++,
          watched: none,
        },
        ...{ unreadable: none, lost: none, behind: none },
        refused: (_, resources) => (this.refused = resources),
      },
      inFlight: new InFlight(1),
      flows: new Flows({ maxRequests: 1, maxBytes: 1, maxBytesAlone: 1 }),
      memory: { isRefusing: false },
      ...{ maxConnections: 1, maxConnectionsPerAddress: 1, requestTimeoutMs: 0, shutdownGraceMs: 0 },
      authenticatorOf: () => ({}),
      started: (_, fields) => this.started.push(fields),
      onTrouble: (reason) => this.troubles.push(reason),
      onWarning: none,
    }
  }
}

async function start(settings: K8sObjectsSettings, host: Host): Promise<RunningReceiver> {
  const module = await k8sObjectsReceiver.load()
  return await module.startReceiver(
    { id: 'k8s_objects', type: 'k8s_objects', listeners: [], signals: ['traces'], settings },
    host.given(),
  )
}

async function examined(settings: K8sObjectsSettings): Promise<Examination[]> {
  const findings: Examination[] = []
  for await (const finding of k8sObjectsReceiver.examine?.('k8s_objects', settings) ?? [])
    findings.push(finding)
  return findings
}

const streams = ({ port }: Host): string[] => [...port.positions.keys()].sort()

test('what takes part in cascades is watched, also what comes to be later; of Secrets the metadata alone', async () => {
  await using api = await TestApiServer.start()
  api.served = [...RESOURCES]
  const accepted = new Map<string, string | undefined>()
  api.instead.push(({ url = '', headers }) => {
    accepted.set(url.split('?')[0] ?? '', headers.accept)
    return false
  })
  const host = new Host()
  await using running = await start(settingsFor(api.url), host)
  expect(running.listeners).toEqual([])
  const first = ['apps/v1/deployments', 'v1/pods', 'v1/secrets'].map((name) => `test k8s_objects ${name}`)
  await eventually(() => expect(streams(host)).toEqual(first))
  await eventually(() =>
    expect(host.port.streams).toEqual(['test k8s_objects behind', 'test k8s_objects in sync']),
  )
  expect(accepted.get('/api/v1/secrets')).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1')
  expect(accepted.get('/api/v1/pods')).toBe('application/json')

  api.history.put({ name: 'w' })
  api.served = [...RESOURCES, { group: 'example.com', version: 'v1', resource: 'widgets', kind: 'Widget' }]
  await eventually(() => expect(host.port.told).toMatchObject([{ by: 'later list', object: { name: 'w' } }]))
})

test('a kubeconfig that cannot be read any more is named in the log, and when it is well again', async () => {
  await using api = await TestApiServer.start()
  const host = new Host()
  const settings = settingsFor(api.url)
  await using running = await start(settings, host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(host.started).toHaveLength(2))
  writeFileSync(kubeconfig, '{')
  await eventually(() => expect(host.troubles).toHaveLength(1))
  expect(host.troubles).toEqual([
    expect.stringMatching(
      /^k8s_objects: the kubeconfig \S+ cannot be read: .*; what was read before stays in use$/s,
    ),
  ])
  settingsFor(api.url)
  await eventually(() => expect(host.started).toHaveLength(3))
  expect(host.started.at(-1)).toEqual({ 'otelcol.component.id': 'k8s_objects', cluster: 'test' })
})

test('what may not be seen is said once, and keeps nobody from the rest', async () => {
  await using api = await TestApiServer.start()
  api.served = [...RESOURCES]
  api.instead.push(({ url = '' }, response) => {
    if (!url.startsWith('/api/v1/pods')) return false
    answerStatus(response, 403, 'Forbidden')
    return true
  })
  const host = new Host()
  const settings = settingsFor(api.url)
  await using running = await start(settings, host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(streams(host)).toHaveLength(2))
  await eventually(() => expect(host.refused).toBe(1))
  const told = [expect.stringMatching(/^k8s_objects: v1\/pods of the cluster test is not seen/)]
  await eventually(() => expect(host.troubles).toEqual(told))
  expect(await examined(settings)).toEqual([
    { state: 'ok', message: `k8s_objects reaches the cluster test at ${api.url}` },
    {
      state: 'warn',
      message: 'k8s_objects may not list and watch 1 of 3 resources: v1/pods',
      advice:
        'add to the rules of its ClusterRole: - { apiGroups: [""], resources: [pods], verbs: [list, watch] }',
    },
  ])
  expect(host.troubles).toEqual(told)
})

test('several that may not be seen are told of in one sentence, once it is known of all', async () => {
  await using api = await TestApiServer.start()
  api.served = [...RESOURCES]
  api.instead.push(({ url = '' }, response) => {
    if (!/pods|secrets/.test(url)) return false
    answerStatus(response, 403, 'Forbidden')
    return true
  })
  const host = new Host()
  await using running = await start(settingsFor(api.url), host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(host.started.at(-1)).toMatchObject({ resources: '1', refused: '2' }))
  await eventually(() =>
    expect(host.troubles).toEqual([
      expect.stringMatching(
        /^k8s_objects: 2 resources of the cluster test are not seen: v1\/pods, v1\/secrets; v1\//,
      ),
    ]),
  )
})

test('one that may not be seen and goes keeps nobody from hearing of the others', async () => {
  await using api = await TestApiServer.start()
  api.served = [...RESOURCES]
  let isSilent = true
  api.instead.push(({ url = '' }, response) => {
    if (url.startsWith('/api/v1/pods')) return isSilent
    if (!url.startsWith('/api/v1/secrets')) return false
    answerStatus(response, 403, 'Forbidden')
    return true
  })
  const host = new Host()
  await using running = await start(settingsFor(api.url), host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(host.refused).toBe(1))
  expect(host.troubles).toEqual([])
  api.served = RESOURCES.filter(({ resource }) => resource !== 'pods')
  await eventually(() => expect(host.troubles).toEqual([expect.stringContaining('v1/secrets')]))
  api.served = RESOURCES.filter(({ resource }) => resource !== 'pods' && resource !== 'secrets')
  await eventually(() => expect(host.refused).toBe(0))
  isSilent = false
})

test('of many that are listed anew at once the first is told of', async () => {
  await using api = await TestApiServer.start()
  const names = ['a', 'b', 'c', 'd']
  api.served = names.map((resource) => ({ group: 'x.io', version: 'v1', resource, kind: 'K' }))
  const host = new Host()
  await using running = await start(settingsFor(api.url), host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(streams(host)).toHaveLength(names.length))
  await eventually(() => expect(api.watchers).toBe(names.length))
  api.instead.push(({ url = '' }, response) => {
    if (!url.includes('watch=') || host.relisted === names.length) return false
    // No list comes before it is known that all of them have to be made.
    if (url.includes('sendInitialEvents')) answerStatus(response, 503, 'ServiceUnavailable')
    else answerStatus(response, 410, 'Expired')
    return true
  })
  api.end()
  await eventually(() => expect(host.relisted).toBe(names.length))
  const told = (): string[] => host.troubles.filter((reason) => reason.includes('is relisted'))
  expect(told()).toEqual([expect.stringContaining('and perhaps others with it: it says Expired')])
  await eventually(() => expect(api.watchers).toBe(names.length))
  expect(told()).toHaveLength(1)
})

test('only what is named is watched, in its namespaces; what is not there is told of', async () => {
  await using api = await TestApiServer.start()
  api.served = [...RESOURCES]
  const named = { namespaces: ['one', 'two'], labelSelector: '', fieldSelector: '' }
  const objects = ['pods', 'events', 'bindings', 'rockets'].map((name) => ({ name, ...named }))
  const host = new Host()
  await using running = await start(settingsFor(api.url, { objects }), host)
  expect(running.listeners).toEqual([])
  await eventually(() =>
    expect(streams(host)).toEqual(['test k8s_objects v1/pods one', 'test k8s_objects v1/pods two']),
  )
  await eventually(() =>
    expect(host.troubles).toEqual([
      'k8s_objects: events takes no part in cascades; remove it from objects',
      'k8s_objects: bindings cannot be watched; remove it from objects',
      'k8s_objects: rockets does not exist; it is watched once it does',
    ]),
  )
})

test('a cluster that is not there keeps nothing from starting, and is watched once it is', async () => {
  const port = await freePort()
  const host = new Host()
  const settings = settingsFor(`http://127.0.0.1:${port}`)
  await using running = await start(settings, host)
  expect(running.listeners).toEqual([])
  await eventually(() => expect(host.troubles).toEqual([expect.stringContaining('ECONNREFUSED')]))
  expect(await examined(settings)).toMatchObject([
    { state: 'fail', advice: expect.stringContaining('start the API server') },
  ])
  await using api = await TestApiServer.start(port)
  api.served = [...RESOURCES]
  await eventually(() => expect(streams(host)).toHaveLength(3))
})

test('a kubeconfig that is not there ends the start with what to do', async () => {
  const settings = settingsFor('http://localhost:1')
  rmSync(kubeconfig)
  await expect(start(settings, new Host())).rejects.toThrow(
    `receiver k8s_objects: there is no kubeconfig at ${kubeconfig}; name one`,
  )
})
