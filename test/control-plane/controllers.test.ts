import { test, expect } from '@jest/globals'
import type { Deployment, Endpoints, Pod, ReplicaSet } from '../../packages/control-plane/api/kube-objects.ts'
import type { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import type { ControlPlane } from '../../packages/control-plane/control-plane.ts'
import { isReady } from '../../packages/control-plane/controllers/pod-state.ts'
import { deployment, service } from '../../packages/control-plane/manifests.ts'
import { virtualRun } from '../../packages/control-plane/virtual-run.ts'

const WEB = { name: 'web', namespace: 'default' }
const QUIET_MS = 5_000

const podsOf = (store: ObjectStore) => store.list('v1/pods').items as Pod[]
const readyOf = (store: ObjectStore) => podsOf(store).filter(isReady)
const endpointsOf = ({ subsets }: Endpoints) => {
  return subsets.flatMap(({ addresses }) => addresses.map(({ targetRef }) => targetRef.name)).sort()
}

async function running(plane: ControlPlane, replicas: number): Promise<void> {
  await plane.kubectl.create('v1/services', service('web'))
  await plane.kubectl.create('apps/v1/deployments', deployment('web', replicas))
  await plane.settled(QUIET_MS)
}

test('a Deployment gets its Pods, more or fewer as it is scaled, also to none', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 3)
    expect(readyOf(plane.store)).toHaveLength(3)
    for (const replicas of [7, 2, 0, 4]) {
      await plane.kubectl.scale(WEB, replicas)
      await plane.settled(QUIET_MS)
      expect(readyOf(plane.store)).toHaveLength(replicas)
      expect(podsOf(plane.store)).toHaveLength(replicas)
    }
    expect(plane.store.list('apps/v1/replicasets').items).toHaveLength(1)
  })
})

test('a Pod that an operator deletes is replaced by one of another name', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 2)
    const [gone] = podsOf(plane.store)
    await plane.kubectl.delete('v1/pods', gone!.metadata)
    await plane.settled(QUIET_MS)
    const names = readyOf(plane.store).map(({ metadata }) => metadata.name)
    expect(names).toHaveLength(2)
    expect(names).not.toContain(gone!.metadata.name)
  })
})

test('while a new image is rolled out, three quarters of the Pods are ready and at most a quarter too many', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 8)
    const ready: number[] = []
    const wanted: number[] = []
    const watching = plane.until((store) => {
      ready.push(readyOf(store).length)
      wanted.push(podsOf(store).filter(({ metadata }) => metadata.deletionTimestamp === undefined).length)
      return podsOf(store).every(({ spec }) => spec.containers[0]?.image === 'web:2.0')
    }, 60_000)
    await plane.kubectl.setImage(WEB, 'web:2.0')
    await watching
    await plane.settled(QUIET_MS)
    expect(Math.min(...ready)).toBeGreaterThanOrEqual(6)
    expect(Math.max(...wanted)).toBeGreaterThan(8)
    expect(Math.max(...wanted)).toBeLessThanOrEqual(10)
    const images = readyOf(plane.store).map(({ spec }) => spec.containers[0]?.image)
    expect(images).toEqual(Array(8).fill('web:2.0'))
    const sets = plane.store.list('apps/v1/replicasets').items as ReplicaSet[]
    expect(sets.map(({ spec }) => spec.replicas).sort()).toEqual([0, 8])
  })
})

test('an image that was there before gets its old ReplicaSet again', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 2)
    for (const image of ['web:2.0', 'web:1.0']) {
      await plane.kubectl.setImage(WEB, image)
      await plane.settled(QUIET_MS)
    }
    expect(plane.store.list('apps/v1/replicasets').items).toHaveLength(2)
    expect(readyOf(plane.store).map(({ spec }) => spec.containers[0]?.image)).toEqual(['web:1.0', 'web:1.0'])
  })
})

test('the scheduler spreads Pods evenly, and the Pods of a node have addresses of its range, each its own', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 12)
    const loads = new Map<string, number>()
    for (const { spec } of podsOf(plane.store)) {
      loads.set(spec.nodeName ?? '', (loads.get(spec.nodeName ?? '') ?? 0) + 1)
    }
    expect([...loads].sort()).toEqual([
      ['node-1', 4],
      ['node-2', 4],
      ['node-3', 4],
    ])
    const addresses = podsOf(plane.store).map(({ spec, status }) => `${spec.nodeName} ${status.podIP}`)
    expect(new Set(addresses).size).toBe(12)
    for (const address of addresses) expect(address).toMatch(/^node-(\d) 10\.\1\.0\.\d+$/)
  })
})

test('Pods wait until there is a node', async () => {
  await virtualRun({ seed: 1, nodes: 0 }, async (plane) => {
    await running(plane, 2)
    expect(podsOf(plane.store).map(({ status }) => status.phase)).toEqual(['Pending', 'Pending'])
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'late', namespace: '' } }
    await plane.kubectl.create('v1/nodes', { ...node, spec: { podCIDR: '10.9.0.0/16' } })
    await plane.settled(QUIET_MS)
    expect(readyOf(plane.store)).toHaveLength(2)
  })
})

test('the kubelet stops a Pod before it goes, and nobody sends it requests meanwhile', async () => {
  await virtualRun({ seed: 1, pace: { stoppingMs: { least: 2_000, most: 2_000 } } }, async (plane) => {
    await running(plane, 1)
    const [pod] = podsOf(plane.store)
    await plane.kubectl.scale(WEB, 0)
    await plane.sleep(1_000)
    expect(podsOf(plane.store)[0]?.metadata).toMatchObject({
      uid: pod?.metadata.uid,
      deletionTimestamp: /2026/,
    })
    expect(endpointsOf(plane.store.get('v1/endpoints', WEB) as Endpoints)).toEqual([])
    await plane.settled(QUIET_MS)
    expect(podsOf(plane.store)).toEqual([])
  })
})

test('Endpoints are the ready Pods that a Service selects, and go with it', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 2)
    await plane.kubectl.create('apps/v1/deployments', deployment('api', 2))
    await plane.kubectl.scale(WEB, 3)
    await plane.until(
      (store) => podsOf(store).some((pod) => pod.spec.nodeName !== undefined && !isReady(pod)),
      5_000,
    )
    const early = endpointsOf(plane.store.get('v1/endpoints', WEB) as Endpoints)
    expect(early).toHaveLength(2)
    await plane.settled(QUIET_MS)
    const web = readyOf(plane.store).filter(({ metadata }) => metadata.labels?.['app'] === 'web')
    const endpoints = plane.store.get('v1/endpoints', WEB) as Endpoints
    expect(endpointsOf(endpoints)).toEqual(web.map(({ metadata }) => metadata.name).sort())
    await plane.kubectl.delete('v1/services', WEB)
    await plane.settled(QUIET_MS)
    expect(plane.store.list('v1/endpoints').items).toEqual([])
  })
})

test('what a deleted Deployment owned goes after it, and nothing else does', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 2)
    await plane.kubectl.create('apps/v1/deployments', deployment('api', 1))
    await plane.settled(QUIET_MS)
    await plane.kubectl.delete('apps/v1/deployments', WEB)
    await plane.settled(QUIET_MS)
    const left = [...plane.store.list('apps/v1/replicasets').items, ...podsOf(plane.store)]
    expect(left.map(({ metadata }) => metadata.labels?.['app'])).toEqual(['api', 'api'])
  })
})

test('the status of a Deployment tells of the generation it speaks of', async () => {
  await virtualRun({ seed: 1 }, async (plane) => {
    await running(plane, 1)
    await plane.kubectl.scale(WEB, 2)
    await plane.settled(QUIET_MS)
    const { status, metadata } = plane.store.get('apps/v1/deployments', WEB) as Deployment
    expect(metadata.generation).toBe(2)
    expect(status).toEqual({ observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2 })
  })
})

test('what a controller could not do, and one that ended, are told of at the end; the others go on', async () => {
  const ended = () => () => Promise.reject(new Error('no way to begin'))
  const run = virtualRun({ seed: 1, others: { ended } }, async (plane) => {
    await running(plane, 1)
    expect(readyOf(plane.store)).toHaveLength(1)
  })
  const trouble = await run.catch((error: unknown) => error)
  expect(trouble).toEqual(new Error('ended failed', { cause: new Error('no way to begin') }))
})

test('what is waited for and does not happen is said so', async () => {
  const run = virtualRun({ seed: 1 }, (plane) => plane.until(() => false, 1_000))
  await expect(run).rejects.toThrow('what was waited for did not happen within 1000 ms')
})
