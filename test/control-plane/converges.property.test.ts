import { test, expect } from '@jest/globals'
import fc from 'fast-check'
import type { ControlPlane } from '../../packages/control-plane/control-plane.ts'
import { isRefusal } from '../../packages/control-plane/api/api-error.ts'
import { autoscaler, deployment, load, service } from '../../packages/control-plane/manifests.ts'
import { LOAD } from '../../packages/control-plane/controllers/metrics-server.ts'
import { virtualRun } from '../../packages/control-plane/virtual-run.ts'
import { asAsked, stateOf } from './cluster-state.ts'

const APPS = ['web', 'api'] as const
const LONGEST_MS = 600_000
const HOUR_MS = 3_600_000

type Command = (plane: ControlPlane) => Promise<unknown>

const at = (name: string) => ({ name, namespace: 'default' })
const apps = fc.constantFrom(...APPS)

const commands: fc.Arbitrary<[string, Command]> = fc.oneof(
  fc
    .tuple(apps, fc.integer({ min: 0, max: 5 }))
    .map(([app, replicas]): [string, Command] => [
      `scale ${app} to ${replicas}`,
      (plane) => plane.kubectl.scale(at(app), replicas),
    ]),
  fc
    .tuple(apps, fc.integer({ min: 1, max: 3 }))
    .map(([app, version]): [string, Command] => [
      `image of ${app} ${version}`,
      (plane) => plane.kubectl.setImage(at(app), `${app}:${version}`),
    ]),
  fc.tuple(apps, fc.nat(9)).map(([app, number]): [string, Command] => [
    `delete Pod ${number} of ${app}`,
    async (plane) => {
      const pods = plane.store
        .list('v1/pods')
        .items.filter(({ metadata }) => metadata.labels?.['app'] === app)
      const pod = pods[number % Math.max(1, pods.length)]
      if (pod !== undefined) await plane.kubectl.delete('v1/pods', pod.metadata)
    },
  ]),
  apps.map((app): [string, Command] => [
    `delete ${app} and create it again`,
    async (plane) => {
      await plane.kubectl.delete('apps/v1/deployments', at(app))
      await plane.kubectl.create('apps/v1/deployments', deployment(app, 2))
    },
  ]),
  apps.map((app): [string, Command] => [
    `delete the ReplicaSets of ${app}`,
    async (plane) => {
      for (const { metadata } of plane.store.list('apps/v1/replicasets').items) {
        if (metadata.labels?.['app'] === app) await plane.kubectl.delete('apps/v1/replicasets', metadata)
      }
    },
  ]),
  apps.map((app): [string, Command] => [
    `delete the Endpoints of ${app}`,
    (plane) => plane.kubectl.delete('v1/endpoints', at(app)),
  ]),
  fc
    .integer({ min: 0, max: 2_000 })
    .map((cpu): [string, Command] => [
      `load of api ${cpu}m`,
      (plane) =>
        plane.kubectl.edit('v1/configmaps', LOAD, (object) => ({ ...object, data: { api: `${cpu}m` } })),
    ]),
)

const histories = fc.record({
  seed: fc.nat(),
  watchDrops: fc.constantFrom(0, 0.05, 0.3),
  watchExpires: fc.constantFrom(0, 0.2, 0.7),
  marksDeletions: fc.boolean(),
  withAutoscaler: fc.boolean(),
  steps: fc.array(fc.record({ command: commands, pauseMs: fc.integer({ min: 0, max: 2_000 }) }), {
    maxLength: 8,
  }),
})

test('whatever happens, the cluster comes to what was asked for', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async ({ seed, marksDeletions, withAutoscaler, steps, ...latency }) => {
      await virtualRun({ seed, latency, marksDeletions }, async (plane) => {
        const { kubectl } = plane
        await kubectl.create('v1/configmaps', load({ api: '400m' }))
        for (const app of APPS) {
          await kubectl.create('v1/services', service(app))
          await kubectl.create('apps/v1/deployments', deployment(app, 2))
        }
        const limits = { minReplicas: 1, maxReplicas: 4, averageValue: '200m' }
        const autoscalers = 'autoscaling/v2/horizontalpodautoscalers'
        if (withAutoscaler) await kubectl.create(autoscalers, autoscaler('api', limits))
        for (const { command, pauseMs } of steps) {
          await command[1](plane).catch((error: unknown) => {
            if (!isRefusal(error, 'NotFound') && !isRefusal(error, 'AlreadyExists')) throw error
          })
          await plane.sleep(pauseMs)
        }
        if (withAutoscaler) await plane.sleep(LONGEST_MS)
        await plane.settled(60_000)
        expect(stateOf(plane.store)).toEqual(asAsked(plane.store))
      })
    }),
    { numRuns: 60, timeout: HOUR_MS },
  )
})
