import { setTimeout as pause } from 'node:timers/promises'
import { deployment, going, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { Story } from './story.ts'

const AT_ONCE = 0
const TURNS = 10
const TURN_QUIET_MS = 4_000
const AFTER_RELABELLING_MS = 6_000
/** What the ReplicaSet controller was refused it tries again after longer and longer. */
const LONGEST_RETRY_MS = 240_000
const FINALIZERS = ['example.com/x']
const LET_GO = { metadata: { finalizers: null } }

/**
 * Stories that are played beside one another. What takes an object away begins with "delete": no version that its answer names is
 * the first that came of it.
 */
export const STORIES: readonly Story[] = [
  {
    name: 'q1-quota',
    play: async ({ step, at, aPod, running }) => {
      const quota = { metadata: { name: 'few' }, spec: { hard: { pods: '3' } } }
      const web = deployment('web', { replicas: 5 })
      const more = { spec: { hard: { pods: '6' } } }
      await step('alice', 'create a quota of 3 pods', (api) => api.create(at('resourcequotas'), quota))
      await step('alice', 'create deployment web x5', (api) => api.create(at('deployments'), web))
      await step('bob', 'raise the quota to 6', (api) => api.patch(at('resourcequotas', 'few'), more))
      await running(5, LONGEST_RETRY_MS)
      const pod = await aPod()
      await step('carol', 'delete a pod by hand', (api) => api.delete(at('pods', pod)))
      await running(5, LONGEST_RETRY_MS)
      await step('bob', 'scale to 2', (api) => api.patch(at('deployments', 'web', 'scale'), withReplicas(2)))
    },
  },
  {
    name: 'r1-relabel',
    play: async ({ step, at, aPod }) => {
      const web = deployment('web', { replicas: 3 })
      await step('alice', 'create deployment web x3', (api) => api.create(at('deployments'), web))
      await step('alice', 'create service web', (api) => api.create(at('services'), service('web')))
      const [away, back] = [withLabels({ app: 'aside' }), withLabels({ app: 'web' })]
      const orphan = at('pods', await aPod())
      await step('bob', 'relabel a pod away', (api) => api.patch(orphan, away))
      await step('carol', 'delete the orphaned pod', (api) => api.delete(orphan))
      const surplus = at('pods', await aPod())
      await step('alice', 'relabel another pod away', (api) => api.patch(surplus, away), AT_ONCE)
      await pause(AFTER_RELABELLING_MS)
      await step('alice', 'relabel it back', (api) => api.patch(surplus, back))
    },
  },
  {
    name: 'g1-orphan',
    play: async ({ step, at, list }) => {
      const web = deployment('web', { replicas: 2 })
      await step('alice', 'create deployment web x2', (api) => api.create(at('deployments'), web))
      await step('bob', 'delete deployment web and orphan its replicaset', (api) =>
        api.delete(at('deployments', 'web'), going('Orphan')),
      )
      const [set] = await list('replicasets')
      await step('carol', 'delete the orphaned replicaset', (api) =>
        api.delete(at('replicasets', set!.metadata.name), going('Background')),
      )
      const owner = { metadata: { name: 'owner' }, data: { a: 'b' } }
      await step('alice', 'create configmap owner', (api) => api.create(at('configmaps'), owner))
      const { uid } = (await list('configmaps')).find(({ metadata }) => metadata.name === 'owner')!.metadata
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
      const owned = { metadata: { name: 'owned', ownerReferences }, data: { a: 'b' } }
      await step('bob', 'create configmap owned', (api) => api.create(at('configmaps'), owned))
      await step('alice', 'delete configmap owner', (api) =>
        api.delete(at('configmaps', 'owner'), going('Background')),
      )
    },
  },
  {
    name: 'a1-again',
    play: async ({ step, at }) => {
      const label = { 'causeway.test/aggregate': 'a1' }
      const metadata = { name: 'a1-whole' }
      const whole = {
        metadata,
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
        rules: [],
      }
      const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
      const part = { metadata: { name: 'a1-part', labels: label }, rules }
      await step('carol', 'delete the default service account', (api) =>
        api.delete(at('serviceaccounts', 'default')),
      )
      await step('bob', 'delete configmap kube-root-ca.crt', (api) =>
        api.delete(at('configmaps', 'kube-root-ca.crt')),
      )
      await step('alice', 'create an aggregated cluster role', (api) => api.create(at('clusterroles'), whole))
      await step('bob', 'create a cluster role of it', (api) => api.create(at('clusterroles'), part))
      await step('carol', 'delete the cluster role of it', (api) => api.delete(at('clusterroles', 'a1-part')))
    },
  },
  {
    name: 'x2-account',
    play: async ({ step, at }) => {
      const robot = { metadata: { name: 'robot' } }
      const annotations = { 'kubernetes.io/service-account.name': 'robot' }
      const token = {
        metadata: { name: 'robot-token', annotations },
        type: 'kubernetes.io/service-account-token',
      }
      await step('alice', 'create service account robot', (api) => api.create(at('serviceaccounts'), robot))
      await step('bob', 'create a token of it', (api) => api.create(at('secrets'), token))
      await step('carol', 'delete the service account', (api) => api.delete(at('serviceaccounts', 'robot')))
    },
  },
  {
    name: 'f1-finalizer',
    play: async ({ step, at }) => {
      const map = { metadata: { name: 'held', finalizers: FINALIZERS }, data: { a: 'b' } }
      const web = deployment('web', { replicas: 1, finalizers: FINALIZERS })
      await step('alice', 'create configmap held', (api) => api.create(at('configmaps'), map))
      await step('bob', 'delete configmap held, which stays', (api) => api.delete(at('configmaps', 'held')))
      await step('carol', 'delete the finalizer of configmap held', (api) =>
        api.patch(at('configmaps', 'held'), LET_GO),
      )
      await step('alice', 'create deployment web x1', (api) => api.create(at('deployments'), web))
      await step('bob', 'delete deployment web, which stays', (api) => api.delete(at('deployments', 'web')))
      await step('carol', 'delete the finalizer of deployment web', (api) =>
        api.patch(at('deployments', 'web'), LET_GO),
      )
    },
  },
  {
    name: 'v1-overwrite',
    play: async ({ step, at, quiet }) => {
      for (let turn = 0; turn < TURNS; turn++) {
        const name = `scaled-${turn}`
        const made = deployment(name, { replicas: 2 })
        await step('alice', `create ${name} x2`, (api) => api.create(at('deployments'), made), AT_ONCE)
        await step(
          'bob',
          `scale ${name} to 3 without a pause`,
          (api) => api.patch(at('deployments', name, 'scale'), withReplicas(3)),
          TURN_QUIET_MS,
        )
      }
      for (let turn = 0; turn < TURNS; turn++) {
        const name = `imaged-${turn}`
        const made = deployment(name, { replicas: 2 })
        await step('alice', `create ${name} x2`, (api) => api.create(at('deployments'), made), TURN_QUIET_MS)
        const give = (user: 'alice' | 'bob', image: string): Promise<void> =>
          step(
            user,
            `image ${image} of ${name} at once with another`,
            (api) => api.patch(at('deployments', name), withImage(image), 'strategic-merge-patch'),
            AT_ONCE,
          )
        await Promise.all([give('alice', 'i:2'), give('bob', 'i:3')])
        await quiet(TURN_QUIET_MS)
      }
    },
  },
]
