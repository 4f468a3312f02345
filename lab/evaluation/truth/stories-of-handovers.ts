import { eventually } from '../../harness/eventually.ts'
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
import { each } from './stories-with-nodes.ts'
import type { Scene, Story } from './story.ts'

const LONGEST_GOING_MS = 60_000
const ENDED_MS = 12_000
const DRY_RUN = { dryRun: ['All'] }

/** Resolves once a path is answered that nothing is there. */
async function gone(api: KubeApi, path: string): Promise<void> {
  await eventually(async () => {
    const there = await api.get(path).then(
      () => true,
      () => false,
    )
    if (there) throw new Error(`${path} is still there`)
  }, LONGEST_GOING_MS)
}

/** As `kubectl replace --force` does. */
const force =
  ({ at }: Scene, resource: 'deployments' | 'configmaps' | 'pods', object: { metadata: { name: string } }) =>
  async (api: KubeApi): Promise<unknown> => {
    const path = at(resource, object.metadata.name)
    await api.delete(path, { propagationPolicy: 'Background', gracePeriodSeconds: 0 })
    await gone(api, path)
    return api.create(at(resource), object)
  }

interface Named {
  metadata: { name: string }
}

/** Stories of objects and duties that change hands; the first has nodes, the others are played beside one another. */
export const STORIES_OF_HANDOVERS: readonly Story[] = [
  {
    name: 'b4-bound',
    hasNodes: true,
    play: async ({ step, at, pods }) => {
      const bind = (pod: string, to: string) => (api: KubeApi) =>
        api.create(at('pods', pod, 'binding'), {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name: pod },
          target: { apiVersion: 'v1', kind: 'Node', name: to },
        })
      const spec = podsOf('web', { ...podSpec('i:1'), schedulerName: 'by-hand' })
      await step('alice', 'add nodes', (api) =>
        each(['b4-a', 'b4-b'], (one) => api.create(at('nodes'), node(one))),
      )
      await step(
        'bob',
        'create deployment web x2',
        make(at('deployments'), { metadata: { name: 'web' }, spec: { replicas: 2, ...spec } }),
      )
      const [first, second] = (await pods()).map(({ metadata }) => metadata.name)
      await step('carol', 'bind a pod', bind(first!, 'b4-a'))
      await step('alice', 'bind the other', bind(second!, 'b4-b'))
      await step(
        'bob',
        'let the scheduler do it',
        edit(at('deployments', 'web'), {
          spec: { template: { spec: { schedulerName: 'default-scheduler' } } },
        }),
      )
      await step('carol', 'delete deployment web', remove(at('deployments', 'web')))
      await step('alice', 'delete both nodes', (api) =>
        each(['b4-a', 'b4-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'b1-forced',
    play: async (scene) => {
      const { step, at, aPod } = scene
      const web = deployment('web', { replicas: 2 }) as Named
      const settings = { metadata: { name: 'settings' }, data: { a: '1' } }
      const alone = { metadata: { name: 'alone' }, spec: podSpec('i:1') }
      await step('alice', 'create deployment web x2', make(at('deployments'), web))
      await step('bob', 'create configmap settings', make(at('configmaps'), settings))
      await step('carol', 'create pod alone', make(at('pods'), alone))
      await step('bob', 'delete and create deployment web', force(scene, 'deployments', web))
      await step(
        'carol',
        'delete and create configmap settings',
        force(scene, 'configmaps', { ...settings, data: { a: '2' } } as Named),
      )
      await step('alice', 'delete and create pod alone', force(scene, 'pods', alone))
      const pod = await aPod(({ metadata }) => metadata.name.startsWith('web-'))
      await step('carol', 'delete a pod with force', (api) =>
        api.delete(at('pods', pod), { gracePeriodSeconds: 0 }),
      )
    },
  },
  {
    name: 'b2-again',
    play: async ({ name, step, at }) => {
      const namespace = `/api/v1/namespaces/${name}`
      const web = deployment('web', { replicas: 2 })
      await step('alice', 'create deployment web x2', make(at('deployments'), web))
      await step('bob', 'create service web', make(at('services'), service('web')))
      await step('carol', 'delete the namespace', async (api) => {
        const answer = await api.delete(namespace)
        await gone(api, namespace)
        return answer
      })
      await step('bob', 'create the namespace again', make('/api/v1/namespaces', { metadata: { name } }))
      await step('alice', 'create deployment web again', make(at('deployments'), web))
      await step('carol', 'create service web again', make(at('services'), service('web')))
      await step('bob', 'scale to 3', change(at('deployments', 'web', 'scale'), withReplicas(3)))
    },
  },
  {
    name: 'b3-switched',
    play: async ({ step, at }) => {
      const to = (app: string) => change(at('services', 'web'), { spec: { selector: { app } } })
      await step(
        'alice',
        'create deployment blue x2',
        make(at('deployments'), deployment('blue', { replicas: 2 })),
      )
      await step('alice', 'create service web of it', (api) =>
        api.create(at('services'), {
          metadata: { name: 'web' },
          spec: { selector: { app: 'blue' }, ports: [{ port: 80 }] },
        }),
      )
      await step(
        'bob',
        'create deployment green x2',
        make(at('deployments'), deployment('green', { replicas: 2 })),
      )
      await step('carol', 'switch to green', to('green'))
      await step('bob', 'scale blue to 0', change(at('deployments', 'blue', 'scale'), withReplicas(0)))
      await step(
        'alice',
        'image i:2 of blue',
        edit(at('deployments', 'blue'), {
          spec: { template: { spec: { containers: [{ name: 'c', image: 'i:2' }] } } },
        }),
      )
      await step('carol', 'scale blue to 2', change(at('deployments', 'blue', 'scale'), withReplicas(2)))
      await step('bob', 'switch to blue', to('blue'))
      await step('alice', 'delete deployment green', remove(at('deployments', 'green')))
    },
  },
  {
    name: 'b5-robot',
    play: async (scene) => {
      const { name, step, at } = scene
      const group = 'rbac.authorization.k8s.io'
      const robot = async (api: KubeApi): Promise<KubeApi> => {
        const { status } = await api.create<{ status: { token: string } }>(
          at('serviceaccounts', 'ci', 'token'),
          {},
        )
        return api.with({ authorization: `Bearer ${status.token}` })
      }
      await step(
        'alice',
        'create service account ci',
        make(at('serviceaccounts'), { metadata: { name: 'ci' } }),
      )
      await step(
        'bob',
        'let it deploy',
        make(`/apis/${group}/v1/namespaces/${name}/rolebindings`, {
          metadata: { name: 'ci' },
          roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'admin' },
          subjects: [{ kind: 'ServiceAccount', name: 'ci', namespace: name }],
        }),
      )
      await step('carol', 'create deployment web x2 as the account', async (api) =>
        (await robot(api)).create(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('carol', 'image i:2 as the account', async (api) =>
        (await robot(api)).patch(at('deployments', 'web'), withImage('i:2'), 'strategic-merge-patch'),
      )
      await step('alice', 'scale to 3', change(at('deployments', 'web', 'scale'), withReplicas(3)))
      await step('bob', 'image i:3 as dave', (api) =>
        api
          .with({ 'impersonate-user': 'dave', 'impersonate-group': 'system:masters' })
          .patch(at('deployments', 'web'), withImage('i:3'), 'strategic-merge-patch'),
      )
      await step('alice', 'create configmap settings as the account', (api) =>
        api
          .with({ 'impersonate-user': `system:serviceaccount:${name}:ci` })
          .create(at('configmaps'), { metadata: { name: 'settings' }, data: { a: '1' } }),
      )
      await step('carol', 'delete deployment web as the account', async (api) =>
        (await robot(api)).delete(at('deployments', 'web')),
      )
    },
  },
  {
    name: 'b6-hooks',
    play: async ({ step, at, list }) => {
      const hook = (name: string) => ({
        metadata: { name, annotations: { 'helm.sh/hook': name } },
        spec: {
          backoffLimit: 0,
          template: {
            metadata: { annotations: { [FINISHES]: 'y' } },
            spec: { ...podSpec('i:1'), restartPolicy: 'Never' },
          },
        },
      })
      const web = at('deployments', 'web')
      const ended = async (): Promise<void> =>
        eventually(async () => {
          const jobs = await list('jobs')
          if (
            !jobs.every(({ status }) =>
              status?.conditions?.some(({ type, status }) => type === 'Complete' && status === 'True'),
            )
          )
            throw new Error('a job is not over')
        }, LONGEST_GOING_MS)
      await step('alice', 'install: a hook first', make(at('jobs'), hook('pre-install')))
      await ended()
      await step('alice', 'delete the hook, as install goes on', remove(at('jobs', 'pre-install')))
      await step(
        'alice',
        'install: deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('bob', 'upgrade: a hook before it', make(at('jobs'), hook('pre-upgrade')))
      await ended()
      await step('bob', 'upgrade: image i:2', edit(web, withImage('i:2')))
      await step('bob', 'delete the hook, as the upgrade ends', remove(at('jobs', 'pre-upgrade')))
      await step('carol', 'rollback: image i:1', edit(web, withImage('i:1')))
      await step('carol', 'delete deployment web, as uninstall does', remove(web))
    },
  },
  {
    name: 'b7-collection',
    play: async ({ step, at, pods }) => {
      const named = (metadata: Named['metadata'], i: string): object => ({
        metadata: { ...metadata, labels: { part: i } },
        data: { i },
      })
      await step(
        'alice',
        'create deployment web x4',
        make(at('deployments'), deployment('web', { replicas: 4 })),
      )
      await step('bob', 'create four configmaps', (api) =>
        each(['one', 'two', 'three', 'four'], (name) => api.create(at('configmaps'), named({ name }, name))),
      )
      await step('carol', 'delete all pods of web at once', remove(`${at('pods')}?labelSelector=app%3Dweb`))
      await step('alice', 'label all pods', async (api) =>
        each(
          (await pods()).map(({ metadata }) => metadata.name),
          (pod) => api.patch(at('pods', pod), withLabels({ tier: 'front' })),
        ),
      )
      await step(
        'bob',
        'delete two configmaps at once',
        remove(`${at('configmaps')}?labelSelector=part%20in%20(one,two)`),
      )
      await step('carol', 'only try to delete deployment web, then scale it to 2', async (api) => {
        await api.delete(at('deployments', 'web'), DRY_RUN)
        await api.delete(at('configmaps', 'three'), DRY_RUN)
        await api.create(`${at('configmaps')}?dryRun=All`, named({ name: 'five' }, 'five'))
        return api.patch(at('deployments', 'web', 'scale'), withReplicas(2))
      })
      // A deletion with a body ignores its query.
      await step('alice', 'delete configmap four, with a query that says dry run', (api) =>
        api.delete(`${at('configmaps', 'four')}?dryRun=All`, going('Background')),
      )
      await step('alice', 'delete all replicasets at once', remove(at('replicasets')))
      await step('bob', 'delete all deployments at once', remove(at('deployments')), ENDED_MS)
    },
  },
  {
    name: 'b8-old',
    play: async ({ step, at, aPod }) => {
      const spec = podsOf('web', podSpec('i:1')) as { template: object }
      const controller = {
        metadata: { name: 'web' },
        spec: { replicas: 2, selector: { app: 'web' }, template: spec.template },
      }
      await step(
        'alice',
        'create replication controller web x2',
        make(at('replicationcontrollers'), controller),
      )
      await step('bob', 'scale to 3', change(at('replicationcontrollers', 'web', 'scale'), withReplicas(3)))
      const pod = await aPod()
      await step('carol', 'delete a pod', remove(at('pods', pod)))
      await step('alice', 'take a pod out', change(at('pods', await aPod()), withLabels({ app: null })))
      await step('bob', 'delete it and leave its pods', remove(at('replicationcontrollers', 'web'), 'Orphan'))
      await step('carol', 'create it again with 2', make(at('replicationcontrollers'), controller))
      await step(
        'alice',
        'delete it in the foreground',
        remove(at('replicationcontrollers', 'web'), 'Foreground'),
      )
    },
  },
  {
    name: 'b0-policies',
    play: async ({ name, step, at }) => {
      const policy = (message: string): object => ({
        metadata: { name: 'b0-policy' },
        spec: {
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: ['apps'],
                apiVersions: ['v1'],
                operations: ['UPDATE'],
                resources: ['deployments'],
              },
            ],
          },
          validations: [{ expression: 'object.spec.replicas <= 3', message }],
        },
      })
      const binding = {
        metadata: { name: 'b0-binding' },
        spec: {
          policyName: 'b0-policy',
          validationActions: ['Deny'],
          matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
        },
      }
      const policies = at('validatingadmissionpolicies')
      await step('alice', 'create a policy', make(policies, policy('at most three')))
      await step('bob', 'bind it', make(at('validatingadmissionpolicybindings'), binding))
      await step(
        'carol',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('alice', 'change its message', change(`${policies}/b0-policy`, policy('no more than three')))
      await step('bob', 'scale to 3', change(at('deployments', 'web'), withReplicas(3)))
      await step(
        'carol',
        'label the namespace',
        change(`/api/v1/namespaces/${name}`, withLabels({ team: 'b0' })),
      )
      await step('alice', 'delete the binding', remove(at('validatingadmissionpolicybindings', 'b0-binding')))
      await step('bob', 'delete the policy', remove(`${policies}/b0-policy`))
    },
  },
]
