import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test } from '@jest/globals'
import { derivedCpid } from '../../src/kube/inference/write-key.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startServer, type Stored } from './support/asked-server.ts'
import { type Sdk, startSdk } from './support/start-sdk.ts'
import { carried, object, told, traced, WEB } from './support/traced-scene.ts'

const OBJECTS = '/apis/apps/v1/namespaces/default/deployments'
const sources = (sdk: Sdk) => sdk.records().map(({ attributes }) => attributes['cpid.sources'])

/** Objects that are read have the CPID of the number in their name; what is written keeps what it carries. */
async function startNumbered() {
  let version = 0
  return await startServer(({ method, path, body }) => {
    const number = Number(/\d+$/.exec(path)?.[0] ?? 1)
    const stored = object(number, String(++version), path.split('/').at(-1))
    const annotations = body?.metadata?.annotations
    const kept = method === 'GET' || annotations === undefined ? stored.metadata.annotations! : annotations
    return [200, { ...stored, metadata: { ...stored.metadata, annotations: kept } }]
  })
}

test('what is read after a write is news to the next one', async () => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const { api, reconciler } = traced()
  let web: object = { metadata: { name: 'web' } }
  const reconcile = reconciler('reconcile', async () => {
    await api.ask('GET', `${server.url}${OBJECTS}/app-11`)
    await api.ask('GET', `${server.url}${OBJECTS}/app-12`)
    web = (await api.ask('PUT', server.url + WEB, web)).answer
    await api.ask('GET', `${server.url}${OBJECTS}/app-13`)
  })
  await reconcile('web')
  await reconcile('web')
  expect(sources(sdk)).toEqual([[cpid(11), cpid(12)]])
  await reconciler('another', async () => {
    await api.ask('GET', `${server.url}${OBJECTS}/app-13`)
    await api.ask('PUT', server.url + WEB, web)
  })('web')
  expect(sources(sdk)[1]).toEqual([cpid(13), cpid(100)])

  let round = 0
  const late = reconciler('late', async () => {
    round++
    if (round === 2) await api.ask('GET', `${server.url}${OBJECTS}/app-22`)
    await api.ask('GET', `${server.url}${OBJECTS}/app-21`)
    const { answer } = await api.ask(
      'PUT',
      server.url + WEB,
      round === 1 ? { metadata: { name: 'web' } } : web,
    )
    web = answer
    if (round === 1) await api.ask('GET', `${server.url}${OBJECTS}/app-22`)
  })
  await late('web')
  await late('web')
  expect(sources(sdk)[2]).toEqual([cpid(22), cpid(21)])
})

test('what the change before the last came from is news where the last does not come from that', async () => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const { api, reconciler } = traced()
  const rounds = [[21, 22], [23], [23, 21]]
  const reconcile = reconciler('reconcile', async () => {
    for (const number of rounds.shift() ?? []) await api.ask('GET', `${server.url}${OBJECTS}/app-${number}`)
    await api.ask('PUT', server.url + WEB, { metadata: { name: 'web' } })
  })
  while (rounds.length > 0) await reconcile('web')
  expect(sources(sdk)).toEqual([
    [cpid(21), cpid(22)],
    [cpid(23), cpid(21)],
  ])
})

test('two who write whatever they find for each other come to an end, though no list has room for all', async () => {
  await using sdk = startSdk()
  const written = new Map<string, Stored>()
  let version = 0
  await using server = await startServer(({ method, path, body }) => {
    const name = path.split('/').at(-1)!
    const stored = written.get(name) ?? object(Number(/\d+$/.exec(path)?.[0] ?? 1), '1', name)
    if (method === 'GET') return [200, stored]
    const { annotations } = body!.metadata!
    const next = {
      ...stored,
      metadata: { ...stored.metadata, annotations: annotations!, resourceVersion: `${++version}` },
    }
    written.set(name, next)
    return [200, next]
  })
  const { api, reconciler } = traced()
  const each = (first: number, reads: string, writes: string) =>
    reconciler('reconcile', async () => {
      await api.ask('GET', `${server.url}${OBJECTS}/${reads}`)
      for (let number = first; number < first + 12; number++)
        await api.ask('GET', `${server.url}${OBJECTS}/app-${number}`)
      await api.ask('PUT', `${server.url}${OBJECTS}/${writes}`, { metadata: { name: writes } })
    })
  const [one, other] = [each(11, 'y-72', 'x-71'), each(31, 'x-71', 'y-72')]
  for (let round = 0; round < 10; round++) {
    await one('key')
    await other('key')
  }
  expect(told(sdk)).toHaveLength(2)
})

test('all that one reconcile writes for the same things is one change, however many they are', async () => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const { api, reconciler } = traced({ maxAncestors: 2 })
  await reconciler('reconcile', async () => {
    for (const number of [11, 12, 13, 14]) await api.ask('GET', `${server.url}${OBJECTS}/app-${number}`)
    await api.ask('PUT', server.url + WEB, { metadata: { name: 'web' } })
    await api.ask('PUT', `${server.url}${OBJECTS}/other`, { metadata: { name: 'other' } })
  })('web')
  expect(sources(sdk)).toEqual([[cpid(11), cpid(12), cpid(13), cpid(14)]])
})

test('whoever woke a reconcile that failed is known when it is tried again, though another woke it since', async () => {
  await using sdk = startSdk()
  const { reconciler } = traced()
  let fails = true
  const reconcile = reconciler('reconcile', () =>
    fails ? Promise.reject(new Error('no')) : Promise.resolve(),
  )
  reconcile.wokenBy('web', object(1, '5', 'gone'))
  await expect(reconcile('web')).rejects.toThrow('no')
  reconcile.wokenBy('web', object(2, '6', 'other'))
  await expect(reconcile('web')).rejects.toThrow('no')
  const observed = () => sdk.spans().at(-1)?.attributes['cpid.observed']
  const gone = 'apps/v1/deployments/default/gone?uid=u1&rv=5'
  const other = 'apps/v1/deployments/default/other?uid=u2&rv=6'
  expect(observed()).toEqual([gone, other])
  for (let number = 10; number < 200; number++) reconcile.wokenBy('web', object(number, '7', `app-${number}`))
  await expect(reconcile('web')).rejects.toThrow('no')
  expect(observed()).toHaveLength(64)

  fails = false
  const kept = traced({ keepsIdleSpans: true }).reconciler('reconcile', () => Promise.resolve())
  kept.wokenBy('web', object(1, '5', 'gone'))
  await kept('web')
  await kept('web')
  expect(observed()).toEqual([gone])
  kept.wokenBy('web', object(2, '6', 'other'))
  await kept('web')
  expect(observed()).toEqual([other])
})

test('of very many who wake a key while it fails the last are known, and no span names more than 128 of them', async () => {
  await using sdk = startSdk()
  const { reconciler, instrumentation } = traced()
  const many = Array.from({ length: 200 }, (_, number) => object(number + 1, '7', `app-${number}`))
  const reconcile = reconciler('reconcile', () => {
    instrumentation.observed(many)
    for (const one of many) reconcile.wokenBy('web', one)
    return Promise.reject(new Error('no'))
  })
  reconcile.wokenBy('web', object(300, '7', 'first'))
  await expect(reconcile('web')).rejects.toThrow('no')
  expect(sdk.spans()[0]?.attributes['cpid.observed']).toHaveLength(128)
  const again = reconciler('again', () => {
    for (const one of many) again.wokenBy('web', one)
    return Promise.reject(new Error('no'))
  })
  for (const one of many.slice(100)) again.wokenBy('web', one)
  await expect(again('web')).rejects.toThrow('no')
  await expect(again('web')).rejects.toThrow('no')
  expect(sdk.spans()[2]?.attributes['cpid.observed']).toHaveLength(64)
})

test('what is begun in a reconcile and goes on is no part of it', async () => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const { api, reconciler } = traced()
  let goOn = AsyncLocalStorage.snapshot()
  await reconciler('reconcile', async () => {
    await api.ask('GET', `${server.url}${OBJECTS}/app-11`)
    await api.ask('GET', `${server.url}${OBJECTS}/app-12`)
    goOn = AsyncLocalStorage.snapshot()
  })('web')
  await goOn(() => api.ask('PUT', server.url + WEB, { metadata: { name: 'web' } }))
  expect(sources(sdk)).toEqual([[]])
})

test('a write whose answer was lost is told of when the object is seen to carry it', async () => {
  await using sdk = startSdk()
  let stored = object(2)
  await using server = await startServer(({ method, body }) => {
    if (method === 'GET') return [200, stored]
    stored = { ...stored, metadata: { ...stored.metadata, ...body?.metadata, resourceVersion: '8' } }
    return undefined
  })
  const { api, reconciler, informer } = traced()
  const listeners: ((object: unknown) => void)[] = []
  informer(
    {
      on: (_: string, told: (object: unknown) => void) => void listeners.push(told),
      get: () => undefined,
      list: () => [],
    },
    { apiVersion: 'apps/v1', kind: 'Deployment' },
  )
  const reconcile = reconciler('reconcile', async () => {
    const { answer } = await api.ask('GET', server.url + WEB)
    await api.ask('PUT', server.url + WEB, answer)
  })
  reconcile.wokenBy('web', object(3, '4', 'settings'))
  await expect(reconcile('web')).rejects.toThrow('fetch failed')
  expect(sources(sdk)).toEqual([])
  for (const tell of listeners) tell(stored)
  expect(sources(sdk)).toEqual([[cpid(3), cpid(2)]])

  const other = traced()
  await expect(
    other.reconciler('write', () => other.api.ask('PUT', server.url + WEB, object(5)))('web'),
  ).rejects.toThrow()
  expect(sources(sdk)).toHaveLength(1)
  const merging = other.reconciler('merge', async () => {
    await other.api.ask('GET', server.url + WEB)
    await other.api.ask('PUT', server.url + WEB, object(6))
  })
  await expect(merging('web')).rejects.toThrow()
  expect(sources(sdk)).toHaveLength(1)
  await expect(merging('web')).rejects.toThrow()
  expect(sources(sdk)[1]).toEqual([cpid(5), cpid(6)])
})

test('what another cluster of the process knows of an object counts where a reconcile reads it there', async () => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const here = traced({ cluster: 'here' })
  const there = traced({ cluster: 'there' })
  const far = { metadata: { name: 'far', uid: 'f', resourceVersion: '3', generation: 1 } }
  const listeners: ((object: typeof far) => void)[] = []
  const lister = there.informer(
    {
      on: (_: string, tell: (object: typeof far) => void) => void listeners.push(tell),
      get: () => far,
      list: () => [far],
    },
    { apiVersion: 'v1', kind: 'Service' },
  )
  listeners[0]?.(far)
  await here.reconciler('reconcile', async () => {
    lister.list()
    await here.api.ask('PUT', server.url + WEB, { metadata: { name: 'web' } })
  })('web')
  expect(sources(sdk)).toEqual([[]])
  expect(told(sdk)).toEqual(server.asked.map(carried))
  expect(told(sdk)).toEqual([derivedCpid('root', { cluster: 'there', uid: 'f', version: '3' })])
})

test.each([
  ['comes of both changes where neither is acted on', 0, [21, 22]],
  ['comes of the second alone where the first is acted on', 1, [22]],
  ['comes of the second alone where nothing says what is acted on', undefined, [22]],
])('what is done for an object that was changed twice before %s', async (_, observedGeneration, from) => {
  await using sdk = startSdk()
  await using server = await startNumbered()
  const { api, reconciler } = traced()
  const reconcile = reconciler('reconcile', () =>
    api.ask('PUT', `${server.url}${OBJECTS}/other`, { metadata: { name: 'other' } }),
  )
  const woken = (number: number, generation: number): object => {
    const { metadata, ...rest } = object(1, String(generation), 'web')
    const annotations = { 'causeway.io/cpid': cpid(number) }
    return { ...rest, metadata: { ...metadata, generation, annotations }, status: { observedGeneration } }
  }
  reconcile.wokenBy('web', woken(21, 1))
  reconcile.wokenBy('web', woken(22, 2))
  await reconcile('web')
  const observed = sdk.spans().at(-1)?.attributes['cpid.observed']
  const versions = (observed as string[]).map((reference) => reference.split('rv=')[1])
  expect(versions).toEqual(from.map((number) => String(number - 20)))
  const merged = from.length > 1 ? [from.map(cpid)] : []
  expect(sources(sdk)).toEqual(merged)
})
