import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, remove } from './deeds.ts'
import { podSpec, withLabels } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'leaderworkerset.x-k8s.io/v1'
const QUIET_MS = 9_000
/** Until the operator and its webhooks answer. */
const STARTED_MS = 15_000

const sets = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/leaderworkersets`, ...path].join('/')

const groups = (name: string, replicas: number, size: number, more: object = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'LeaderWorkerSet',
  metadata: { name },
  spec: {
    replicas,
    leaderWorkerTemplate: {
      size,
      restartPolicy: 'RecreateGroupOnPodRestart',
      workerTemplate: { spec: podSpec('w:1') },
      ...more,
    },
  },
})

const make = (scene: Scene, set: object) => (api: KubeApi) => api.create(sets(scene), set)
const withImage = (image: string): object => ({
  spec: { leaderWorkerTemplate: { workerTemplate: { spec: podSpec(image) } } },
})

/** Stories for a cluster in which the LeaderWorkerSet controller runs, with its webhooks. */
export const STORIES_WITH_LEADERS: readonly Story[] = [
  {
    name: 'v2-grouped',
    play: async (scene) => {
      const { step, at, quiet } = scene
      const model = sets(scene, 'model')
      await quiet(STARTED_MS)
      await step('alice', 'create set model, two groups of two', make(scene, groups('model', 2, 2)), QUIET_MS)
      await step(
        'bob',
        'scale it to three groups',
        change(`${model}/scale`, { spec: { replicas: 3 } }),
        QUIET_MS,
      )
      await step('carol', 'delete a worker by hand', remove(at('pods', 'model-0-1')), QUIET_MS)
      await step('alice', 'delete a leader by hand', remove(at('pods', 'model-1')), QUIET_MS)
      await step('bob', 'image 2', change(model, withImage('w:2')), 15_000)
      await step(
        'carol',
        'delete a group of workers by hand',
        remove(at('statefulsets', 'model-2')),
        QUIET_MS,
      )
      await step('alice', 'delete its service', remove(at('services', 'model')), QUIET_MS)
      await step('bob', 'scale it to one group', change(model, { spec: { replicas: 1 } }), QUIET_MS)
      await step('carol', 'delete set model', remove(model), QUIET_MS)
    },
  },
  {
    name: 'v3-together',
    play: async (scene) => {
      const { step, at, quiet } = scene
      const model = sets(scene, 'serve')
      await quiet(STARTED_MS)
      await step(
        'alice',
        'create set serve, leader first',
        (api) => {
          const set = groups('serve', 1, 3) as { spec: object }
          return api.create(sets(scene), { ...set, spec: { ...set.spec, startupPolicy: 'LeaderReady' } })
        },
        QUIET_MS,
      )
      await step('bob', 'scale it to two', change(model, { spec: { replicas: 2 } }), 1_500)
      await step('carol', 'image 2 while that', change(model, withImage('w:2')), 20_000)
      await step('alice', 'label it', change(model, withLabels({ a: 'b' })), QUIET_MS)
      await step(
        'bob',
        'scale its leaders by hand',
        change(at('statefulsets', 'serve'), { spec: { replicas: 1 } }),
        QUIET_MS,
      )
      await step(
        'carol',
        'image of workers by hand',
        (api) =>
          api.patch(
            at('statefulsets', 'serve-0'),
            { spec: { template: { spec: { containers: [{ name: 'c', image: 'w:9' }] } } } },
            'strategic-merge-patch',
          ),
        QUIET_MS,
      )
      await step(
        'alice',
        'write its status by hand',
        change(`${model}/status`, { status: { readyReplicas: 9 } }),
        QUIET_MS,
      )
      await step('bob', 'delete set serve in the foreground', remove(model, 'Foreground'), QUIET_MS)
    },
  },
  {
    name: 'v4-shared',
    play: async (scene) => {
      const { step, at, quiet } = scene
      await quiet(STARTED_MS)
      const one = sets(scene, 'one')
      await step('alice', 'create set one', make(scene, groups('one', 1, 2)), QUIET_MS)
      await step(
        'bob',
        'create set two, own addresses',
        (api) => {
          const set = groups('two', 2, 2) as { spec: object }
          return api.create(sets(scene), {
            ...set,
            spec: { ...set.spec, networkConfig: { subdomainPolicy: 'UniquePerReplica' } },
          })
        },
        QUIET_MS,
      )
      await step(
        'carol',
        'let one surge',
        change(one, {
          spec: {
            rolloutStrategy: {
              type: 'RollingUpdate',
              rollingUpdateConfiguration: { maxSurge: 1, maxUnavailable: 1 },
            },
          },
        }),
        QUIET_MS,
      )
      await step('alice', 'image 2 of one', change(one, withImage('w:2')), 15_000)
      await step('bob', 'image 1 again of one', change(one, withImage('w:1')), 15_000)
      await step('carol', 'delete a service of a group', remove(at('services', 'two-0')), QUIET_MS)
      await step(
        'alice',
        'fail a worker of two',
        (api) => api.patch(`${at('pods', 'two-0-1')}/status`, { status: { phase: 'Failed' } }),
        QUIET_MS,
      )
      await step('bob', 'delete set two, keep its parts', remove(sets(scene, 'two'), 'Orphan'), QUIET_MS)
      await step('carol', 'delete leaders of two', remove(at('statefulsets', 'two')), QUIET_MS)
      await step('alice', 'delete set one', remove(one), QUIET_MS)
    },
  },
]
