import { setTimeout as pause } from 'node:timers/promises'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { FINISHES } from '../../harness/kubernetes/kwok-stages.ts'
import { deployment, going, podSpec, podsOf, service, withImage, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const AT_ONCE = 0
const UNDER_WAY_MS = 1_500
/** A StatefulSet renews one Pod after the other. */
const IN_TURN_MS = 8_000
/** A Job makes a failed Pod anew after longer and longer. */
const BACK_OFF_MS = 14_000
/** An autoscaler looks every 15 s. */
const MEASURED_MS = 22_000
const STRATEGIC = 'strategic-merge-patch'
const RESTARTED = 'kubectl.kubernetes.io/restartedAt'

const restarted = (at: string): object => ({
  spec: { template: { metadata: { annotations: { [RESTARTED]: at } } } },
})

const job = (name: string, spec: object, pod: object = {}, annotations: object = {}): object => ({
  metadata: { name },
  spec: {
    ...spec,
    template: { metadata: { annotations }, spec: { ...podSpec('j:1'), restartPolicy: 'Never', ...pod } },
  },
})

/** A Pod's status as its kubelet would write it once its container has ended. */
const ended = (phase: 'Failed' | 'Succeeded'): object => ({
  status: { phase, conditions: [{ type: 'Ready', status: 'False', reason: `Pod${phase}` }] },
})

/** As kubectl does it: deletes it, waits until it is gone, and makes it anew. */
async function replaceByForce(api: KubeApi, path: string, name: string, object: object): Promise<unknown> {
  await api.delete(`${path}/${name}`, { propagationPolicy: 'Background', gracePeriodSeconds: 0 })
  return api.create(path, object)
}

const theOne = async ({ list }: Scene, resource: 'replicasets'): Promise<string> => {
  const [one] = await list(resource)
  if (one === undefined) throw new Error(`there are no ${resource}`)
  return one.metadata.name
}

/** Stories of what makes Pods, in ways that people use now and then. */
export const STORIES_OF_WORKLOADS: readonly Story[] = [
  {
    name: 't1-partition',
    play: async ({ step, at, running }) => {
      const db = {
        metadata: { name: 'db' },
        spec: {
          ...{ replicas: 4, serviceName: 'db', podManagementPolicy: 'Parallel' },
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
          ...podsOf('db', podSpec('i:1')),
        },
      }
      const strategy = (updateStrategy: object): object => ({ spec: { updateStrategy } })
      const set = at('statefulsets', 'db')
      const headless = {
        ...service('db'),
        spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ port: 1 }] },
      }
      await step('carol', 'create a headless service', (api) => api.create(at('services'), headless))
      await step('alice', 'create statefulset db x4', (api) => api.create(at('statefulsets'), db))
      await running(4)
      await step(
        'bob',
        'image i:2 with partition 2',
        (api) => api.patch(set, withImage('i:2'), STRATEGIC),
        IN_TURN_MS,
      )
      await step(
        'alice',
        'partition 0',
        (api) => api.patch(set, strategy({ rollingUpdate: { partition: 0 } })),
        IN_TURN_MS,
      )
      await step('carol', 'scale to 5', (api) => api.patch(`${set}/scale`, withReplicas(5)))
      await step('bob', 'renew on delete only', (api) =>
        api.patch(set, strategy({ type: 'OnDelete', rollingUpdate: null })),
      )
      await step('alice', 'image i:3, which renews nothing', (api) =>
        api.patch(set, withImage('i:3'), STRATEGIC),
      )
      await step('carol', 'delete db-1 by hand', (api) => api.delete(at('pods', 'db-1')), IN_TURN_MS)
      await step('bob', 'scale to 2', (api) => api.patch(`${set}/scale`, withReplicas(2)), IN_TURN_MS)
    },
  },
  {
    name: 't2-undone',
    play: async ({ step, at }) => {
      const web = at('deployments', 'web')
      await step('alice', 'create deployment web x3', (api) =>
        api.create(at('deployments'), deployment('web', { replicas: 3 })),
      )
      await step('bob', 'image i:2', (api) => api.patch(web, withImage('i:2'), STRATEGIC), AT_ONCE)
      await pause(UNDER_WAY_MS)
      await step('alice', 'pause while it goes on', (api) => api.patch(web, { spec: { paused: true } }))
      await step('bob', 'image i:3 while paused', (api) => api.patch(web, withImage('i:3'), STRATEGIC))
      await step('carol', 'scale to 5 while paused', (api) => api.patch(`${web}/scale`, withReplicas(5)))
      await step('alice', 'resume', (api) => api.patch(web, { spec: { paused: null } }))
      await step('bob', 'restart', (api) => api.patch(web, restarted('2026-01-01T00:00:00Z')))
      await step('carol', 'undo to i:1', (api) =>
        api.patch(
          web,
          {
            spec: {
              template: {
                metadata: { annotations: null },
                spec: { containers: [{ name: 'c', image: 'i:1' }] },
              },
            },
          },
          STRATEGIC,
        ),
      )
      await step('alice', 'restart again', (api) => api.patch(web, restarted('2026-01-02T00:00:00Z')))
    },
  },
  {
    name: 't3-scaled',
    play: async ({ step, at }) => {
      const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
      const scaler = (minReplicas: number, maxReplicas: number): object => ({
        metadata: { name: 'web' },
        spec: { scaleTargetRef: target, minReplicas, maxReplicas },
      })
      const limits = (minReplicas: number, maxReplicas: number) => (api: KubeApi) =>
        api.patch(at('horizontalpodautoscalers', 'web'), { spec: { minReplicas, maxReplicas } })
      await step('alice', 'create deployment web x1', (api) =>
        api.create(at('deployments'), deployment('web', { replicas: 1 })),
      )
      await step(
        'bob',
        'create an autoscaler of 3 to 6',
        (api) => api.create(at('horizontalpodautoscalers'), scaler(3, 6)),
        MEASURED_MS,
      )
      await step('carol', 'raise its minimum to 5', limits(5, 6), MEASURED_MS)
      await step(
        'alice',
        'scale to 2 by hand',
        (api) => api.patch(at('deployments', 'web', 'scale'), withReplicas(2)),
        MEASURED_MS,
      )
      await step('bob', 'lower its maximum to 4', limits(2, 4), MEASURED_MS)
      await step('carol', 'delete the autoscaler', (api) => api.delete(at('horizontalpodautoscalers', 'web')))
      await step('alice', 'scale to 1', (api) =>
        api.patch(at('deployments', 'web', 'scale'), withReplicas(1)),
      )
    },
  },
  {
    name: 't4-cron',
    play: async ({ name, step, at, byItself, list }) => {
      const template = job('x', { backoffLimit: 1 }, {}, { [FINISHES]: 'y' }) as { spec: object }
      const cron = {
        metadata: { name: 'tick' },
        spec: {
          schedule: '* * * * *',
          suspend: true,
          successfulJobsHistoryLimit: 3,
          jobTemplate: { spec: template.spec },
        },
      }
      const suspended = (suspend: boolean): object => ({ spec: { suspend } })
      const made = ({ kind, metadata }: { kind: string; metadata: { namespace?: string } }): boolean =>
        kind === 'Job' && metadata.namespace === name
      await step('alice', 'create cronjob tick, suspended', (api) => api.create(at('cronjobs'), cron))
      await step('carol', 'create a job of it by hand', async (api) => {
        const [{ metadata }] = (await list('cronjobs')) as [{ metadata: { uid: string } }]
        const owner = {
          apiVersion: 'batch/v1',
          kind: 'CronJob',
          name: 'tick',
          uid: metadata.uid,
          controller: true,
        }
        const annotations = { 'cronjob.kubernetes.io/instantiate': 'manual' }
        return api.create(at('jobs'), {
          metadata: { name: 'by-hand', annotations, ownerReferences: [owner] },
          spec: template.spec,
        })
      })
      await step('bob', 'resume it', (api) => api.patch(at('cronjobs', 'tick'), suspended(false)), AT_ONCE)
      await byItself('its time has come', made)
      await step('alice', 'suspend it', (api) => api.patch(at('cronjobs', 'tick'), suspended(true)))
      await step(
        'carol',
        'keep no finished job',
        (api) => api.patch(at('cronjobs', 'tick'), { spec: { successfulJobsHistoryLimit: 0 } }),
        IN_TURN_MS,
      )
      await step('bob', 'delete it', (api) => api.delete(at('cronjobs', 'tick'), going('Background')))
    },
  },
  {
    name: 't5-indexed',
    play: async ({ step, at, aPod }) => {
      const batch = job('batch', {
        completionMode: 'Indexed',
        completions: 4,
        parallelism: 2,
        backoffLimit: 6,
      })
      const change = (spec: object) => (api: KubeApi) => api.patch(at('jobs', 'batch'), { spec })
      await step('alice', 'create job batch of 4, 2 at once', (api) => api.create(at('jobs'), batch))
      const first = await aPod()
      await step(
        'carol',
        'let a pod fail',
        (api) => api.patch(at('pods', first, 'status'), ended('Failed')),
        BACK_OFF_MS,
      )
      const next = await aPod(({ status }) => status.phase === 'Running')
      await step(
        'bob',
        'let a pod succeed',
        (api) => api.patch(at('pods', next, 'status'), ended('Succeeded')),
        BACK_OFF_MS,
      )
      await step('alice', 'run 3 at once', change({ parallelism: 3 }))
      await step('carol', 'suspend it', change({ suspend: true }))
      await step('bob', 'resume it', change({ suspend: false }))
      const killed = await aPod(({ status }) => status.phase === 'Running')
      await step('alice', 'delete a pod by hand', (api) => api.delete(at('pods', killed)), BACK_OFF_MS)
      await step('carol', 'delete the job', (api) => api.delete(at('jobs', 'batch'), going('Background')))
    },
  },
  {
    name: 't6-overlap',
    play: async ({ step, at }) => {
      const named = (name: string): object => {
        const one = deployment('web', { replicas: 2 }) as { metadata: object; spec: object }
        return { ...one, metadata: { ...one.metadata, name } }
      }
      const scale = (name: string, replicas: number) => (api: KubeApi) =>
        api.patch(at('deployments', name, 'scale'), withReplicas(replicas))
      const budget = {
        metadata: { name: 'web' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
      }
      await step('alice', 'create deployment one x2', (api) => api.create(at('deployments'), named('one')))
      await step('bob', 'create deployment two x2 of the same labels', (api) =>
        api.create(at('deployments'), named('two')),
      )
      await step('carol', 'create a service of both', (api) => api.create(at('services'), service('web')))
      await step('alice', 'create a budget of both', (api) => api.create(at('poddisruptionbudgets'), budget))
      await step('bob', 'scale one to 4', scale('one', 4))
      await step('alice', 'scale two to 1', scale('two', 1))
      await step('carol', 'image of one', (api) =>
        api.patch(at('deployments', 'one'), withImage('i:2'), STRATEGIC),
      )
      await step('bob', 'delete deployment two', (api) =>
        api.delete(at('deployments', 'two'), going('Foreground')),
      )
    },
  },
  {
    name: 't7-adopt',
    play: async (scene) => {
      const { step, at } = scene
      const spec = podsOf('web', podSpec('i:1'))
      const bare = { metadata: { name: 'bare', labels: { app: 'web' } }, spec: podSpec('i:1') }
      const set = { metadata: { name: 'set', labels: { app: 'web' } }, spec: { replicas: 2, ...spec } }
      await step('carol', 'create a pod of nobody', (api) => api.create(at('pods'), bare))
      await step('bob', 'create replicaset set x2, which adopts it', (api) =>
        api.create(at('replicasets'), set),
      )
      await step('alice', 'create deployment web x3, which adopts the set', (api) =>
        api.create(at('deployments'), deployment('web', { replicas: 3 })),
      )
      await step('bob', 'scale its replicaset by hand', (api) =>
        api.patch(at('replicasets', 'set', 'scale'), withReplicas(5)),
      )
      await step('carol', 'delete its replicaset by hand', (api) =>
        api.delete(at('replicasets', 'set'), going('Background')),
      )
      await step('alice', 'image i:2', (api) =>
        api.patch(at('deployments', 'web'), withImage('i:2'), STRATEGIC),
      )
      await step('bob', 'delete the deployment, and orphan its own', (api) =>
        api.delete(at('deployments', 'web'), going('Orphan')),
      )
      await step('carol', 'create the deployment again', (api) =>
        api.create(at('deployments'), { ...deployment('web', { replicas: 2 }) }),
      )
    },
  },
  {
    name: 't8-replaced',
    play: async (scene) => {
      const { step, at } = scene
      const pod = { metadata: { name: 'lone', labels: { app: 'lone' } }, spec: podSpec('i:1') }
      const web = deployment('web', { replicas: 2 })
      await step('alice', 'create pod lone', (api) => api.create(at('pods'), pod))
      await step('bob', 'create deployment web x2', (api) => api.create(at('deployments'), web))
      await step('carol', 'delete pod lone by force, and make it anew', (api) =>
        replaceByForce(api, at('pods'), 'lone', pod),
      )
      await step('alice', 'delete deployment web by force, and make it anew', (api) =>
        replaceByForce(api, at('deployments'), 'web', web),
      )
      const set = await theOne(scene, 'replicasets')
      await step('bob', 'image of its replicaset by hand', (api) =>
        api.patch(at('replicasets', set), withImage('i:9'), STRATEGIC),
      )
      await step('carol', 'delete all pods at once', (api) => api.delete(at('pods')), IN_TURN_MS)
      await step('alice', 'delete all deployments at once', (api) =>
        api.delete(at('deployments'), going('Background')),
      )
    },
  },
  {
    name: 't9-gated',
    play: async ({ step, at, aPod }) => {
      const debugger_ = {
        spec: { ephemeralContainers: [{ name: 'debug', image: 'd:1', targetContainerName: 'c' }] },
      }
      const gated = {
        metadata: { name: 'gated' },
        spec: { ...podSpec('i:1'), schedulingGates: [{ name: 'example.com/wait' }] },
      }
      const quota = { metadata: { name: 'cpu' }, spec: { hard: { 'requests.cpu': '2' } } }
      await step('alice', 'create deployment web x2', (api) =>
        api.create(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('alice', 'create a quota of cpu', (api) => api.create(at('resourcequotas'), quota))
      const pod = await aPod()
      await step('carol', 'debug a pod', (api) =>
        api.patch(at('pods', pod, 'ephemeralcontainers'), debugger_, STRATEGIC),
      )
      await step('alice', 'create pod gated', (api) => api.create(at('pods'), gated))
      await step('bob', 'let it be scheduled', (api) =>
        api.patch(at('pods', 'gated'), { spec: { schedulingGates: null } }),
      )
      await step('carol', 'delete the debugged pod', (api) => api.delete(at('pods', pod)))
      await step('alice', 'delete pod gated', (api) => api.delete(at('pods', 'gated')))
    },
  },
]
