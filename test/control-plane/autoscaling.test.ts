import { test, expect } from '@jest/globals'
import type { Deployment } from '../../packages/control-plane/api/kube-objects.ts'
import type { ControlPlane } from '../../packages/control-plane/control-plane.ts'
import { LOAD } from '../../packages/control-plane/controllers/metrics-server.ts'
import { millicores } from '../../packages/control-plane/controllers/millicores.ts'
import { autoscaler, deployment, load } from '../../packages/control-plane/manifests.ts'
import { virtualRun } from '../../packages/control-plane/virtual-run.ts'

const WEB = { name: 'web', namespace: 'default' }
const AUTOSCALERS = 'autoscaling/v2/horizontalpodautoscalers'
const SYNC_MS = 15_000
const STABILIZATION_MS = 300_000

interface Begin {
  replicas: number
  cpu: string
  minReplicas?: number
  maxReplicas?: number
}

async function autoscaled(
  { replicas, cpu, minReplicas = 1, maxReplicas = 10 }: Begin,
  play: (plane: ControlPlane) => Promise<void>,
): Promise<void> {
  await virtualRun({ seed: 1 }, async (plane) => {
    await plane.kubectl.create('v1/configmaps', load({ web: cpu }))
    await plane.kubectl.create('apps/v1/deployments', deployment('web', replicas))
    await plane.settled(5_000)
    const limits = { minReplicas, maxReplicas, averageValue: '200m' }
    await plane.kubectl.create(AUTOSCALERS, autoscaler('web', limits))
    await play(plane)
  })
}

const replicasIn = ({ store }: ControlPlane) => {
  return (store.get('apps/v1/deployments', WEB) as Deployment).spec.replicas
}

const loaded = ({ kubectl }: ControlPlane, cpu: string) => {
  return kubectl.edit('v1/configmaps', LOAD, (object) => ({ ...object, data: { web: cpu } }))
}

test('with more load there are more Pods, as many as bring each to its target', async () => {
  await autoscaled({ replicas: 1, cpu: '200m' }, async (plane) => {
    await plane.sleep(2 * SYNC_MS)
    expect(replicasIn(plane)).toBe(1)
    await loaded(plane, '1500m')
    await plane.sleep(2 * SYNC_MS)
    expect(replicasIn(plane)).toBe(8)
    expect(plane.store.get(AUTOSCALERS, WEB).status).toMatchObject({ currentReplicas: 8, desiredReplicas: 8 })
  })
})

test('with less load there are fewer Pods, but only when it stayed so for the time of stabilization', async () => {
  await autoscaled({ replicas: 5, cpu: '1000m' }, async (plane) => {
    await plane.sleep(2 * SYNC_MS)
    await loaded(plane, '300m')
    await plane.sleep(STABILIZATION_MS - 3 * SYNC_MS)
    expect(replicasIn(plane)).toBe(5)
    await plane.sleep(5 * SYNC_MS)
    expect(replicasIn(plane)).toBe(2)
  })
})

test('an autoscaler that has just begun scales nothing down at once', async () => {
  await autoscaled({ replicas: 5, cpu: '200m' }, async (plane) => {
    await plane.sleep(2 * SYNC_MS)
    expect(replicasIn(plane)).toBe(5)
    await plane.sleep(STABILIZATION_MS)
    expect(replicasIn(plane)).toBe(1)
  })
})

test('a short lull scales nothing down', async () => {
  await autoscaled({ replicas: 5, cpu: '1000m' }, async (plane) => {
    await plane.sleep(2 * SYNC_MS)
    await loaded(plane, '100m')
    await plane.sleep(100_000)
    await loaded(plane, '1000m')
    await plane.sleep(2 * STABILIZATION_MS)
    expect(replicasIn(plane)).toBe(5)
  })
})

test.each([
  ['1090m', 5],
  ['910m', 5],
  ['1110m', 6],
])('within a tenth of the target nothing changes: %s among 5 makes %i', async (cpu, replicas) => {
  await autoscaled({ replicas: 5, cpu }, async (plane) => {
    await plane.sleep(STABILIZATION_MS + 5 * SYNC_MS)
    expect(replicasIn(plane)).toBe(replicas)
  })
})

test.each([
  ['3000m', 4],
  ['10m', 2],
])('the limits hold: with %s there are %i', async (cpu, replicas) => {
  await autoscaled({ replicas: 3, cpu, minReplicas: 2, maxReplicas: 4 }, async (plane) => {
    await plane.sleep(STABILIZATION_MS + 5 * SYNC_MS)
    expect(replicasIn(plane)).toBe(replicas)
  })
})

test.each([
  [1, 2],
  [9, 4],
])('what lies outside the limits is brought inside at once, %i to %i', async (before, after) => {
  await autoscaled({ replicas: before, cpu: '0m', minReplicas: 2, maxReplicas: 4 }, async (plane) => {
    await plane.sleep(2 * SYNC_MS)
    expect(replicasIn(plane)).toBe(after)
  })
})

test('what an operator scales to nothing stays so', async () => {
  await autoscaled({ replicas: 2, cpu: '900m' }, async (plane) => {
    await plane.kubectl.scale(WEB, 0)
    await plane.sleep(10 * SYNC_MS)
    expect(replicasIn(plane)).toBe(0)
  })
})

test('CPU quantities are read as Kubernetes writes them', () => {
  expect(['250m', '2', '0.5'].map(millicores)).toEqual([250, 2000, 500])
  expect(() => millicores('2Gi')).toThrow(new RangeError('"2Gi" is no CPU quantity; write 250m or 2'))
})
