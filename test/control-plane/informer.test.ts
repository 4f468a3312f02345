import { test, expect } from '@jest/globals'
import { LocalClient } from '../../packages/control-plane/api/local-client.ts'
import type { Deployment } from '../../packages/control-plane/api/kube-objects.ts'
import { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import { Chance } from '../../packages/control-plane/chance.ts'
import { LATENCY, type Latency } from '../../packages/control-plane/control-plane.ts'
import { deployment } from '../../packages/control-plane/manifests.ts'
import { Informer } from '../../packages/control-plane/runtime/informer.ts'
import { VirtualClock } from '../../packages/control-plane/virtual-clock.ts'

const DEPLOYMENTS = 'apps/v1/deployments'
const WEB = { name: 'web', namespace: 'default' }
const KEY = 'default/web'

interface Watched {
  clock: VirtualClock
  store: ObjectStore
  informer: Informer<typeof DEPLOYMENTS>
  /** What its handler was told: names with generations, `-` before those that are gone. */
  told: string[]
}

/** Plays while an informer runs. */
async function watching(latency: Partial<Latency>, play: (watched: Watched) => Promise<void>): Promise<void> {
  const clock = new VirtualClock()
  const chance = new Chance(1)
  const store = new ObjectStore({ clock, chance, historyLength: 4 })
  const client = new LocalClient(store, { ...LATENCY, ...latency, clock, chance })
  const stop = new AbortController()
  const informer = new Informer(DEPLOYMENTS, { client, clock, signal: stop.signal })
  const told: string[] = []
  informer.onChange(({ old, now, latest }) => {
    const { name, generation } = latest.metadata
    told.push(now === undefined ? `-${name}` : `${old === undefined ? '+' : ''}${name} ${generation}`)
  })
  store.create(DEPLOYMENTS, deployment('web', 1))
  const running = informer.run()
  await clock.run(
    informer.synced.then(async () => {
      await play({ clock, store, informer, told })
      stop.abort()
      await running
    }),
  )
}

function scale(store: ObjectStore, replicas: number): Deployment {
  const object = store.get(DEPLOYMENTS, WEB) as Deployment
  return store.update(DEPLOYMENTS, { ...object, spec: { ...object.spec, replicas } }) as Deployment
}

test('an informer lists, then hears of every change, in order', async () => {
  await watching({}, async ({ clock, store, informer, told }) => {
    expect(informer.all()).toHaveLength(1)
    store.create(DEPLOYMENTS, deployment('api', 1))
    scale(store, 2)
    await clock.sleep(100)
    expect(informer.get(KEY)?.spec.replicas).toBe(2)
    store.delete(DEPLOYMENTS, WEB)
    await clock.sleep(100)
    expect(informer.get(KEY)).toBeUndefined()
    expect(told).toEqual(['+web 1', '+api 1', 'web 2', '-web'])
  })
})

test('it lags behind: what was just written is not there yet', async () => {
  await watching({ watchMs: { least: 50, most: 50 } }, async ({ clock, store, informer }) => {
    scale(store, 2)
    await clock.sleep(49)
    expect(informer.get(KEY)?.spec.replicas).toBe(1)
    await clock.sleep(2)
    expect(informer.get(KEY)?.spec.replicas).toBe(2)
  })
})

test('a watch that drops after each event goes on, and tells nothing twice', async () => {
  await watching({ watchDrops: 1 }, async ({ clock, store, told }) => {
    for (const replicas of [2, 3, 4]) scale(store, replicas)
    await clock.sleep(1_000)
    expect(told).toEqual(['+web 1', 'web 2', 'web 3', 'web 4'])
  })
})

test('where watches expire, lists tell of what is new and of what is gone', async () => {
  await watching({ watchExpires: 1 }, async ({ clock, store, informer, told }) => {
    store.create(DEPLOYMENTS, deployment('api', 1))
    scale(store, 2)
    scale(store, 3)
    await clock.sleep(100)
    store.delete(DEPLOYMENTS, WEB)
    await clock.sleep(100)
    expect(told).toEqual(['+web 1', 'web 3', '+api 1', '-web'])
    expect(informer.all().map(({ metadata }) => metadata.name)).toEqual(['api'])
  })
})

test('a list tells that an object is another one of the same name', async () => {
  await watching({ watchExpires: 1 }, async ({ clock, store, told }) => {
    store.delete(DEPLOYMENTS, WEB)
    store.create(DEPLOYMENTS, deployment('web', 1))
    await clock.sleep(100)
    expect(told).toEqual(['+web 1', '-web', '+web 1'])
  })
})

test('a watch that comes too late for what the server still has begins again with a list', async () => {
  await watching({ watchMs: { least: 50, most: 50 }, watchDrops: 1 }, async ({ clock, store, informer }) => {
    for (let replicas = 2; replicas <= 40; replicas++) {
      scale(store, replicas)
      await clock.sleep(5)
    }
    await clock.sleep(1_000)
    expect(informer.get(KEY)?.spec.replicas).toBe(40)
  })
})

test('own writes are known at once, and the older event that comes later changes nothing', async () => {
  await watching({ watchMs: { least: 50, most: 50 } }, async ({ clock, store, informer }) => {
    const early = scale(store, 2)
    await clock.sleep(10)
    informer.remember(scale(store, 3))
    informer.remember(early)
    for (let ms = 0; ms < 200; ms += 10) {
      expect(informer.get(KEY)?.spec.replicas).toBe(3)
      await clock.sleep(10)
    }
  })
})

test('an own write whose object is gone meanwhile is not remembered', async () => {
  await watching({}, async ({ clock, store, informer }) => {
    const written = scale(store, 2)
    store.delete(DEPLOYMENTS, WEB)
    await clock.sleep(100)
    informer.remember(written)
    expect(informer.get(KEY)).toBeUndefined()
  })
})

test('what is created and remembered stays through an older list, and goes when it is deleted', async () => {
  await watching({ watchExpires: 1 }, async ({ clock, store, informer }) => {
    const api = store.create(DEPLOYMENTS, deployment('api', 1)) as Deployment
    informer.remember(api)
    expect(informer.get('default/api')).toEqual(api)
    store.delete(DEPLOYMENTS, api.metadata)
    await clock.sleep(200)
    expect(informer.get('default/api')).toBeUndefined()
  })
})
