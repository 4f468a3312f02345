import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { FINISHES } from '../../harness/kubernetes/kwok-stages.ts'
import { change, edit, make, remove } from './deeds.ts'
import {
  deployment,
  going,
  node,
  podSpec,
  podsOf,
  service,
  withImage,
  withLabels,
  withReplicas,
} from './manifests.ts'
import { each, drain } from './stories-with-nodes.ts'
import type { Pod, Scene, Story } from './story.ts'

/** A StatefulSet renews one Pod after the other. */
const IN_TURN_MS = 8_000
/** A Job makes a failed Pod anew after longer and longer. */
const BACK_OFF_MS = 14_000
const MEASURED_MS = 22_000
const KEPT_MS = 3_000

const containers = (...all: readonly object[]): object => ({
  spec: { template: { spec: { containers: all } } },
})

const job = (name: string, spec: object, annotations: object = {}): object => ({
  metadata: { name },
  spec: {
    ...spec,
    template: { metadata: { annotations }, spec: { ...podSpec('j:1'), restartPolicy: 'Never' } },
  },
})

const isRunning = ({ status }: Pod): boolean => status.phase === 'Running'

/** As a kubelet would write it once the container has ended. */
const ended = (phase: 'Failed' | 'Succeeded', exitCode: number): object => ({
  status: {
    phase,
    conditions: [{ type: 'Ready', status: 'False', reason: `Pod${phase}` }],
    containerStatuses: [
      {
        ...{ name: 'c', image: 'j:1', imageID: '', ready: false, restartCount: 0 },
        state: { terminated: { exitCode, reason: phase === 'Failed' ? 'Error' : 'Completed' } },
      },
    ],
  },
})

/** As `kubectl debug --copy-to` does it: without the owner of the Pod. */
async function copyOf({ list }: Scene, name: string, labels: object): Promise<object> {
  const { spec } = (await list<{ metadata: { name: string }; spec: object }>('pods')).find(
    ({ metadata }) => metadata.name === name,
  )!
  return { metadata: { name: 'copy', labels }, spec: { ...spec, nodeName: undefined } }
}

/** Stories of the upkeep of what runs already. */
export const STORIES_OF_UPKEEP: readonly Story[] = [
  {
    name: 'j1-sidecars',
    play: async ({ step, at }) => {
      const web = at('deployments', 'web')
      const settings = { metadata: { name: 'settings' }, data: { a: '1' } }
      const sidecar = { name: 'proxy', image: 'p:1', restartPolicy: 'Always' }
      const init = { spec: { template: { spec: { initContainers: [sidecar] } } } }
      const volume = { name: 'settings', configMap: { name: 'settings' } }
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('bob', 'add a sidecar', edit(web, init))
      await step('carol', 'add a container of logs', edit(web, containers({ name: 'logs', image: 'l:1' })))
      await step('alice', 'take it away', edit(web, containers({ name: 'logs', $patch: 'delete' })))
      await step('bob', 'create configmap settings', make(at('configmaps'), settings))
      await step('carol', 'mount it', edit(web, { spec: { template: { spec: { volumes: [volume] } } } }))
      await step(
        'alice',
        'give it more cpu',
        edit(web, containers({ name: 'c', resources: { requests: { cpu: '200m' } } })),
      )
    },
  },
  {
    name: 'j2-strategies',
    play: async ({ step, at, running }) => {
      const web = at('deployments', 'web')
      await step(
        'alice',
        'create deployment web x4',
        make(at('deployments'), deployment('web', { replicas: 4 })),
      )
      await step(
        'carol',
        'replace all at once',
        change(web, { spec: { strategy: { type: 'Recreate', rollingUpdate: null } } }),
      )
      await step('bob', 'image i:2', edit(web, withImage('i:2')), KEPT_MS)
      await running(4)
      await step('alice', 'wait 3 s for each', change(web, { spec: { minReadySeconds: 3 } }))
      await step(
        'carol',
        'replace one by one',
        change(web, {
          spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
        }),
      )
      await step('bob', 'image i:3', edit(web, withImage('i:3')), KEPT_MS)
      await running(4)
      await step('alice', 'keep no old replicaset', change(web, { spec: { revisionHistoryLimit: 0 } }))
      await step('carol', 'scale to 0', change(`${web}/scale`, withReplicas(0)))
      await step('bob', 'scale to 2', change(`${web}/scale`, withReplicas(2)))
    },
  },
  {
    name: 'j3-retained',
    play: async ({ step, at, running }) => {
      const claim = {
        metadata: { name: 'data' },
        spec: {
          ...{ accessModes: ['ReadWriteOnce'], storageClassName: 'j3' },
          resources: { requests: { storage: '1Gi' } },
        },
      }
      const volume = (name: string): object => ({
        metadata: { name },
        spec: {
          ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: 'j3' },
          ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: `/data/${name}` } },
        },
      })
      const db = {
        metadata: { name: 'db' },
        spec: {
          ...{ replicas: 2, serviceName: 'db', ...podsOf('db', podSpec('i:1')) },
          persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted: 'Retain' },
          volumeClaimTemplates: [claim],
        },
      }
      const policy = (whenDeleted: string): object => ({
        spec: { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete', whenDeleted } },
      })
      await step('bob', 'create both volumes', (api) =>
        each(['j3-a', 'j3-b'], (one) => api.create(at('persistentvolumes'), volume(one))),
      )
      await step('alice', 'create statefulset db x2', make(at('statefulsets'), db))
      await running(2)
      await step(
        'carol',
        'scale to 1',
        change(at('statefulsets', 'db', 'scale'), withReplicas(1)),
        IN_TURN_MS,
      )
      await step('bob', 'delete the claims with it', change(at('statefulsets', 'db'), policy('Delete')))
      await step('alice', 'delete statefulset db', remove(at('statefulsets', 'db')), IN_TURN_MS)
      await step('carol', 'delete both volumes', (api) =>
        each(['j3-a', 'j3-b'], (one) => api.delete(at('persistentvolumes', one))),
      )
    },
  },
  {
    name: 'j4-parallel',
    play: async ({ step, at }) => {
      const many = at('jobs', 'many')
      await step(
        'alice',
        'create job many of 6, one at once',
        make(at('jobs'), job('many', { completions: 6, parallelism: 1 })),
      )
      await step('bob', 'run 4 at once', change(many, { spec: { parallelism: 4 } }))
      await step('carol', 'run 2 at once', change(many, { spec: { parallelism: 2 } }))
      await step('alice', 'run none', change(many, { spec: { parallelism: 0 } }))
      await step('bob', 'run 1 at once', change(many, { spec: { parallelism: 1 } }))
      await step('carol', 'delete it, and orphan its pods', remove(many, 'Orphan'))
      await step('alice', 'delete all pods', (api) => api.delete(at('pods')))
    },
  },
  {
    name: 'j5-policies',
    play: async (scene) => {
      const { step, at, aPod } = scene
      const rule = { action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3 }
      const fails = job('fails', { ...indexed, podFailurePolicy: { rules: [rule] } })
      const leads = job('leads', { ...indexed, successPolicy: { rules: [{ succeededIndexes: '0' }] } })
      const end = (pod: string, how: object) => (api: KubeApi) => api.patch(at('pods', pod, 'status'), how)
      const of = (name: string) => (pod: Pod) => pod.metadata.name.startsWith(name) && isRunning(pod)
      await step('alice', 'create job fails, which one exit code ends', make(at('jobs'), fails))
      await step('bob', 'create job leads, which its first pod ends', make(at('jobs'), leads))
      const failing = await aPod(of('fails-1'))
      await step('carol', 'let a pod end with that code', end(failing, ended('Failed', 42)), BACK_OFF_MS)
      const leader = await aPod(of('leads-0'))
      await step('carol', 'let the first pod succeed', end(leader, ended('Succeeded', 0)), BACK_OFF_MS)
      await step(
        'bob',
        'create a job that may take 2 s',
        make(at('jobs'), job('short', { activeDeadlineSeconds: 600, parallelism: 2 })),
      )
      await step('alice', 'give it 1 s', change(at('jobs', 'short'), { spec: { activeDeadlineSeconds: 1 } }))
      await step(
        'carol',
        'let finished ones expire',
        change(at('jobs', 'fails'), { spec: { ttlSecondsAfterFinished: 0 } }),
      )
      await step('bob', 'delete the other jobs', (api) =>
        each(['leads', 'short'], (one) => api.delete(at('jobs', one), going('Foreground'))),
      )
    },
  },
  {
    name: 'j6-copied',
    play: async (scene) => {
      const { step, at, aPod } = scene
      await step(
        'alice',
        'create deployment web x3',
        make(at('deployments'), deployment('web', { replicas: 3 })),
      )
      await step('bob', 'create service web', make(at('services'), service('web')))
      const pod = await aPod()
      const aside = await copyOf(scene, pod, { debug: 'y' })
      await step('carol', 'copy a pod to debug it', make(at('pods'), aside))
      await step('alice', 'delete the copy', remove(at('pods', 'copy')))
      const resized = { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '150m' } } }] } }
      await step('bob', 'resize a pod in place', edit(at('pods', pod, 'resize'), resized))
      const noted = { metadata: { annotations: { 'example.com/note': 'a' } } }
      await step('carol', 'annotate a pod', change(at('pods', pod), noted))
      await step('alice', 'annotate the service', change(at('services', 'web'), noted))
      await step('bob', 'delete a pod by hand', remove(at('pods', pod)))
    },
  },
  {
    name: 'j7-scaled',
    play: async ({ step, at, running }) => {
      const db = {
        metadata: { name: 'db' },
        spec: { replicas: 1, serviceName: 'db', ...podsOf('db', podSpec('i:1')) },
      }
      const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' }
      const scaler = { metadata: { name: 'db' }, spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 4 } }
      await step('alice', 'create statefulset db x1', make(at('statefulsets'), db))
      await step(
        'carol',
        'create an autoscaler of 2 to 4',
        make(at('horizontalpodautoscalers'), scaler),
        MEASURED_MS,
      )
      await running(2)
      await step(
        'bob',
        'raise its minimum to 3',
        change(at('horizontalpodautoscalers', 'db'), { spec: { minReplicas: 3 } }),
        MEASURED_MS,
      )
      await running(3)
      await step('alice', 'image i:2', edit(at('statefulsets', 'db'), withImage('i:2')), IN_TURN_MS)
      await step('carol', 'delete db-1 by hand', remove(at('pods', 'db-1')), IN_TURN_MS)
      await step('bob', 'delete the autoscaler', remove(at('horizontalpodautoscalers', 'db')))
    },
  },
  {
    name: 'j8-roles',
    play: async ({ step, at }) => {
      const label = { 'causeway.test/aggregate': 'j8' }
      const rules = (verb: string): object => ({
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: [verb] }],
      })
      const whole = {
        ...{ metadata: { name: 'j8-whole' }, rules: [] },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
      }
      const part = (name: string, verb: string): object => ({
        metadata: { name, labels: label },
        ...rules(verb),
      })
      await step('bob', 'create a cluster role', make(at('clusterroles'), part('j8-a', 'get')))
      await step('alice', 'create one that is aggregated', make(at('clusterroles'), whole))
      await step('carol', 'create another part', make(at('clusterroles'), part('j8-b', 'list')))
      await step('bob', 'allow more in the first', change(at('clusterroles', 'j8-a'), rules('watch')))
      await step(
        'alice',
        'take the label of the second away',
        change(at('clusterroles', 'j8-b'), withLabels({ 'causeway.test/aggregate': null })),
      )
      await step(
        'carol',
        'create a service account',
        make(at('serviceaccounts'), { metadata: { name: 'robot' } }),
      )
      await step(
        'bob',
        'annotate it',
        change(at('serviceaccounts', 'robot'), { metadata: { annotations: { a: 'b' } } }),
      )
      await step('alice', 'delete all of it', async (api) => [
        ...(await each(['j8-a', 'j8-b'], (one) => api.delete(at('clusterroles', one)))),
        await api.delete(at('clusterroles', 'j8-whole')),
      ])
    },
  },
  {
    name: 'j9-counted',
    play: async ({ step, at }) => {
      const hard = { pods: '4', services: '2', 'count/configmaps': '4', 'count/jobs.batch': '2' }
      const map = (name: string): object => ({ metadata: { name }, data: {} })
      await step(
        'alice',
        'create a quota of several kinds',
        make(at('resourcequotas'), { metadata: { name: 'all' }, spec: { hard } }),
      )
      await step('carol', 'create configmap one', make(at('configmaps'), map('one')))
      await step('bob', 'create service web', make(at('services'), service('web')))
      await step(
        'carol',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('alice', 'create job one', make(at('jobs'), job('one', {}, { [FINISHES]: 'y' })))
      await step('bob', 'delete configmap one', remove(at('configmaps', 'one')))
      await step('carol', 'scale web to 4', change(at('deployments', 'web', 'scale'), withReplicas(4)))
      await step('alice', 'delete job one', remove(at('jobs', 'one')))
      await step('bob', 'delete service web', remove(at('services', 'web')))
    },
  },
  {
    name: 'j0-drained',
    hasNodes: true,
    play: async (scene) => {
      const { step, at } = scene
      const pool = { pool: 'j0' }
      const web = deployment('web', { replicas: 3, nodeSelector: pool })
      const budget = (maxUnavailable: number): object => ({
        ...{ metadata: { name: 'web' } },
        spec: { maxUnavailable, selector: { matchLabels: { app: 'web' } } },
      })
      const cordoned = (unschedulable: true | null): object => ({ spec: { unschedulable } })
      await step('alice', 'add nodes', (api) =>
        each(['j0-a', 'j0-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step('alice', 'create deployment web x3', make(at('deployments'), web))
      await step('bob', 'create a budget of 1', make(at('poddisruptionbudgets'), budget(1)))
      await step('carol', 'cordon j0-b', change(at('nodes', 'j0-b'), cordoned(true)))
      await step('bob', 'drain j0-b', (api) => drain(scene, api, 'j0-b'))
      await step('carol', 'uncordon j0-b', change(at('nodes', 'j0-b'), cordoned(null)))
      await step('alice', 'allow 2 unavailable', change(at('poddisruptionbudgets', 'web'), budget(2)))
      await step('bob', 'drain j0-a', (api) => drain(scene, api, 'j0-a'))
      await step('carol', 'delete the budget', remove(at('poddisruptionbudgets', 'web')))
      await step('alice', 'delete deployment web', remove(at('deployments', 'web')))
      await step('bob', 'delete both nodes', (api) =>
        each(['j0-a', 'j0-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
]
