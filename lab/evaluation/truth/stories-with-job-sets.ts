import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { FINISHES } from '../../harness/kubernetes/kwok-stages.ts'
import { going, podSpec } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'jobset.x-k8s.io/v1alpha2'
const QUIET_MS = 8_000

const sets = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/jobsets`, ...path].join('/')

interface Part {
  readonly name: string
  readonly jobs: number
  readonly pods: number
  readonly annotations?: Readonly<Record<string, string>>
}

const part = ({ name, jobs, pods, annotations = {} }: Part): object => ({
  name,
  replicas: jobs,
  template: {
    spec: {
      ...{ parallelism: pods, completions: pods, completionMode: 'Indexed', backoffLimit: 0 },
      template: { metadata: { annotations }, spec: { ...podSpec('j:1'), restartPolicy: 'Never' } },
    },
  },
})

/** With what its webhook would set. */
const jobSet = (name: string, parts: readonly Part[], more: object = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'JobSet',
  metadata: { name },
  spec: {
    replicatedJobs: parts.map(part),
    network: { enableDNSHostnames: true, publishNotReadyAddresses: true },
    successPolicy: { operator: 'All' },
    startupPolicy: { startupPolicyOrder: 'AnyOrder' },
    ...more,
  },
})

const make = (scene: Scene, set: object) => (api: KubeApi) => api.create(sets(scene), set)
const change = (scene: Scene, name: string, spec: object) => (api: KubeApi) =>
  api.patch(sets(scene, name), { spec })

/** A Pod of a Job, by whose end the Job fails. */
const fail = (scene: Scene, start: string) => async (api: KubeApi) => {
  const pod = await scene.aPod(({ metadata }) => metadata.name.startsWith(start))
  return api.patch(`${scene.at('pods', pod)}/status`, { status: { phase: 'Failed' } })
}

/** Stories for a cluster in which the JobSet controller runs. */
export const STORIES_WITH_JOB_SETS: readonly Story[] = [
  {
    name: 'n2-trained',
    play: async (scene) => {
      const { step, at } = scene
      const parts = [
        { name: 'leader', jobs: 1, pods: 1 },
        { name: 'worker', jobs: 1, pods: 2 },
      ]
      const policy = { failurePolicy: { maxRestarts: 1 } }
      await step('alice', 'create job set train', make(scene, jobSet('train', parts, policy)), QUIET_MS)
      await step('bob', 'suspend it', change(scene, 'train', { suspend: true }), QUIET_MS)
      await step('carol', 'resume it', change(scene, 'train', { suspend: false }), QUIET_MS)
      await step('alice', 'let a worker fail, which restarts all', fail(scene, 'train-worker-0'), QUIET_MS)
      await step(
        'bob',
        'delete a job by hand',
        (api) => api.delete(at('jobs', 'train-worker-0'), going('Background')),
        QUIET_MS,
      )
      await step('carol', 'let the leader fail for good', fail(scene, 'train-leader-0'), QUIET_MS)
      await step('alice', 'delete its service', (api) => api.delete(at('services', 'train')), QUIET_MS)
      await step(
        'bob',
        'delete job set train',
        (api) => api.delete(sets(scene, 'train'), going('Background')),
        QUIET_MS,
      )
    },
  },
  {
    name: 'n3-ended',
    play: async (scene) => {
      const { step } = scene
      const ends = { [FINISHES]: 'y' }
      const parts = [
        { name: 'first', jobs: 1, pods: 1, annotations: ends },
        { name: 'then', jobs: 2, pods: 1, annotations: ends },
      ]
      const inOrder = { startupPolicy: { startupPolicyOrder: 'InOrder' } }
      await step(
        'alice',
        'create job set short, in order',
        make(scene, jobSet('short', parts, inOrder)),
        QUIET_MS,
      )
      await step(
        'bob',
        'create job set held, suspended',
        make(scene, jobSet('held', parts.slice(0, 1), { suspend: true })),
        QUIET_MS,
      )
      await step('carol', 'let held begin', change(scene, 'held', { suspend: false }), QUIET_MS)
      await step(
        'alice',
        'create job set brief, which expires',
        make(scene, jobSet('brief', parts.slice(0, 1), { ttlSecondsAfterFinished: 5 })),
        QUIET_MS,
      )
      await step(
        'bob',
        'delete job set short in the foreground',
        (api) => api.delete(sets(scene, 'short'), going('Foreground')),
        QUIET_MS,
      )
      await step('carol', 'label job set held', (api) =>
        api.patch(sets(scene, 'held'), { metadata: { labels: { a: 'b' } } }),
      )
      await step(
        'alice',
        'delete job set held',
        (api) => api.delete(sets(scene, 'held'), going('Background')),
        QUIET_MS,
      )
    },
  },
]
