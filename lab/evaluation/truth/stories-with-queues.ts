import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { FINISHES } from '../../harness/kubernetes/kwok-stages.ts'
import { going, podSpec } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'kueue.x-k8s.io/v1beta2'
const QUEUE = 'kueue.x-k8s.io/queue-name'
const PRIORITY = 'kueue.x-k8s.io/priority-class'
const QUIET_MS = 8_000

type Kind = 'resourceflavors' | 'clusterqueues' | 'workloadpriorityclasses'

const whole = (kind: Kind, ...path: string[]): string => [`/apis/${API_VERSION}/${kind}`, ...path].join('/')
const queues = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/localqueues`, ...path].join('/')

const quotaOf = (flavor: string, cpu: string): object => ({
  resourceGroups: [
    {
      coveredResources: ['cpu'],
      flavors: [{ name: flavor, resources: [{ name: 'cpu', nominalQuota: cpu }] }],
    },
  ],
})

const clusterQueue = (name: string, flavor: string, cpu: string, more: object = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'ClusterQueue',
  metadata: { name },
  spec: { namespaceSelector: {}, ...quotaOf(flavor, cpu), ...more },
})

const localQueue = (name: string, of: string): object => ({
  apiVersion: API_VERSION,
  kind: 'LocalQueue',
  metadata: { name },
  spec: { clusterQueue: of },
})

/** A Job of two Pods, which waits in a queue until there is room for both. */
const job = (name: string, queue: string, labels: object = {}, annotations: object = {}): object => ({
  metadata: { name, labels: { [QUEUE]: queue, ...labels } },
  spec: {
    ...{ parallelism: 2, completions: 2, suspend: true, backoffLimit: 3 },
    template: {
      metadata: { annotations },
      spec: { ...podSpec('j:1', { cpu: '400m' }), restartPolicy: 'Never' },
    },
  },
})

async function makeFlavored(
  api: KubeApi,
  scene: Scene,
  name: string,
  cpu: string,
  more: object = {},
): Promise<unknown[]> {
  const flavor = { apiVersion: API_VERSION, kind: 'ResourceFlavor', metadata: { name: `${name}-flavor` } }
  return [
    await api.create(whole('resourceflavors'), flavor),
    await api.create(whole('clusterqueues'), clusterQueue(`${name}-team`, `${name}-flavor`, cpu, more)),
    await api.create(queues(scene), localQueue('jobs', `${name}-team`)),
  ]
}

/** Stories for a cluster in which kueue runs. */
export const STORIES_WITH_QUEUES: readonly Story[] = [
  {
    name: 'm1-queue',
    play: async (scene) => {
      const { step, at } = scene
      const make = (one: object) => (api: KubeApi) => api.create(at('jobs'), one)
      const change = (spec: object) => (api: KubeApi) =>
        api.patch(whole('clusterqueues', 'm1-team'), { spec })
      const remove = (name: string) => (api: KubeApi) => api.delete(at('jobs', name), going('Background'))
      await step(
        'alice',
        'create the queues, with a cpu',
        (api) => makeFlavored(api, scene, 'm1', '1'),
        QUIET_MS,
      )
      await step('bob', 'create job one', make(job('one', 'jobs')), QUIET_MS)
      await step('carol', 'create job two, which waits', make(job('two', 'jobs')), QUIET_MS)
      await step('alice', 'raise the quota to 2 cpu', change(quotaOf('m1-flavor', '2')), QUIET_MS)
      await step('bob', 'create job three, which waits', make(job('three', 'jobs')), QUIET_MS)
      await step('carol', 'delete job one', remove('one'), QUIET_MS)
      await step('alice', 'hold and drain the queue', change({ stopPolicy: 'HoldAndDrain' }), QUIET_MS)
      await step('bob', 'let it go on', change({ stopPolicy: 'None' }), QUIET_MS)
      await step('carol', 'delete job two', remove('two'), QUIET_MS)
      await step('alice', 'delete job three', remove('three'), QUIET_MS)
      await step('bob', 'delete the queue', (api) => api.delete(queues(scene, 'jobs')), QUIET_MS)
    },
  },
  {
    name: 'm2-pushed',
    play: async (scene) => {
      const { step, at } = scene
      const level = (name: string, value: number): object => ({
        apiVersion: API_VERSION,
        kind: 'WorkloadPriorityClass',
        metadata: { name },
        value,
      })
      const preemption = { preemption: { withinClusterQueue: 'LowerPriority' } }
      const ranked = (name: string, as: string): object => job(name, 'jobs', { [PRIORITY]: as })
      await step(
        'alice',
        'create the queues, with a cpu',
        (api) => makeFlavored(api, scene, 'm2', '1', preemption),
        QUIET_MS,
      )
      await step('alice', 'create both priorities', async (api) => [
        await api.create(whole('workloadpriorityclasses'), level('m2-low', 1)),
        await api.create(whole('workloadpriorityclasses'), level('m2-high', 100)),
      ])
      await step('bob', 'create job low', (api) => api.create(at('jobs'), ranked('low', 'm2-low')), QUIET_MS)
      await step(
        'carol',
        'create job high, which pushes that aside',
        (api) => api.create(at('jobs'), ranked('high', 'm2-high')),
        QUIET_MS,
      )
      await step(
        'bob',
        'delete job high',
        (api) => api.delete(at('jobs', 'high'), going('Background')),
        QUIET_MS,
      )
      await step(
        'alice',
        'create job short, which waits',
        (api) => api.create(at('jobs'), job('short', 'jobs', { [PRIORITY]: 'm2-low' }, { [FINISHES]: 'y' })),
        QUIET_MS,
      )
      await step(
        'carol',
        'suspend job low by hand',
        (api) => api.patch(at('jobs', 'low'), { spec: { suspend: true } }),
        QUIET_MS,
      )
      await step(
        'bob',
        'delete job low',
        (api) => api.delete(at('jobs', 'low'), going('Background')),
        QUIET_MS,
      )
    },
  },
]
