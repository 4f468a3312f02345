import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { deployment, podSpec, podsOf, withImage, withLabels, withReplicas } from './manifests.ts'
import type { Story } from './story.ts'

const LONG_MS = 9_000

/** Stories of what becomes of parts: adopted, given away, bound to others, run more or fewer at once. */
export const STORIES_OF_PARTS: readonly Story[] = [
  {
    name: 'sd-slow',
    play: async ({ step, at, aPod }) => {
      const web = at('deployments', 'web')
      const spec = {
        replicas: 2,
        minReadySeconds: 4,
        progressDeadlineSeconds: 8,
        ...podsOf('web', podSpec('i:1')),
      }
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), { metadata: { name: 'web' }, spec }),
        LONG_MS,
      )
      await step(
        'bob',
        'ask for too much',
        edit(web, {
          spec: {
            template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '900' } } }] } },
          },
        }),
        3_000,
      )
      await step('carol', 'label it', change(web, withLabels({ a: 'b' })), 1_000)
      await step('bob', 'annotate it', change(web, { metadata: { annotations: { a: 'b' } } }), 12_000)
      await step(
        'alice',
        'ask for less',
        edit(web, {
          spec: {
            template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } } }] } },
          },
        }),
        LONG_MS,
      )
      await step('bob', 'pause it', change(web, { spec: { paused: true } }))
      await step('carol', 'image 2 while paused', edit(web, withImage('i:2')))
      await step('alice', 'delete a pod', async (api) => api.delete(at('pods', await aPod())), LONG_MS)
      await step('bob', 'scale to 3 while paused', change(web, withReplicas(3)), LONG_MS)
      await step('carol', 'resume it', change(web, { spec: { paused: null } }), LONG_MS)
      await step(
        'alice',
        'recreate instead',
        change(web, { spec: { strategy: { type: 'Recreate', rollingUpdate: null } } }),
      )
      await step('bob', 'image 3', edit(web, withImage('i:3')), LONG_MS)
    },
  },
  {
    name: 'se-adopted',
    play: async ({ step, at, aPod }) => {
      const db = at('statefulsets', 'db')
      const set = {
        metadata: { name: 'db' },
        spec: {
          serviceName: 'db',
          replicas: 2,
          podManagementPolicy: 'Parallel',
          ...podsOf('db', podSpec('d:1')),
        },
      }
      const ds = at('daemonsets', 'agent')
      await step('alice', 'create stateful set db', make(at('statefulsets'), set), LONG_MS)
      await step('bob', 'delete it and leave its pods', remove(db, 'Orphan'), LONG_MS)
      await step(
        'carol',
        'create it again, which adopts',
        make(at('statefulsets'), { ...set, spec: { ...set.spec, replicas: 3 } }),
        LONG_MS,
      )
      await step(
        'alice',
        'label db-1 out of it',
        change(at('pods', 'db-1'), withLabels({ app: 'x' })),
        LONG_MS,
      )
      await step('bob', 'delete db-1', remove(at('pods', 'db-1')), LONG_MS)
      await step('carol', 'image 2', edit(db, withImage('d:2')), LONG_MS)
      await step(
        'alice',
        'on delete',
        change(db, { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } } }),
      )
      await step('bob', 'image 3', edit(db, withImage('d:3')), LONG_MS)
      await step('carol', 'delete db-0', remove(at('pods', 'db-0')), LONG_MS)
      await step(
        'alice',
        'create daemon set agent',
        make(at('daemonsets'), { metadata: { name: 'agent' }, spec: podsOf('agent', podSpec('a:1')) }),
        LONG_MS,
      )
      await step('bob', 'image 2 of agent', edit(ds, withImage('a:2')), LONG_MS)
      await step(
        'carol',
        'label an agent out of it',
        async (api) => {
          const pod = await aPod(({ metadata }) => metadata.name.startsWith('agent'))
          return api.patch(at('pods', pod), withLabels({ app: 'lost' }))
        },
        LONG_MS,
      )
      await step('alice', 'delete agent and leave its pods', remove(ds, 'Orphan'), LONG_MS)
      await step(
        'bob',
        'create agent again',
        make(at('daemonsets'), { metadata: { name: 'agent' }, spec: podsOf('agent', podSpec('a:2')) }),
        LONG_MS,
      )
      await step(
        'carol',
        'delete controller revisions',
        async (api) => {
          const path = db.replace('statefulsets/db', 'controllerrevisions')
          const { items } = await api.get<{ items: { metadata: { name: string } }[] }>(path)
          return api.delete(
            `${path}/${items.find(({ metadata }) => metadata.name.startsWith('db-'))!.metadata.name}`,
          )
        },
        LONG_MS,
      )
    },
  },
  {
    name: 'sf-accounts',
    play: async ({ step, at, name }) => {
      const token = (called: string) => ({
        metadata: { name: called, annotations: { 'kubernetes.io/service-account.name': 'robot' } },
        type: 'kubernetes.io/service-account-token',
      })
      const robot = (api: KubeApi): KubeApi =>
        api.with({ 'impersonate-user': `system:serviceaccount:${name}:robot` })
      await step(
        'alice',
        'create account robot',
        make(at('serviceaccounts'), { metadata: { name: 'robot' } }),
      )
      await step(
        'alice',
        'let it do all',
        make('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
          metadata: { name: 'sf-robot' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: name }],
        }),
      )
      await step('bob', 'create a token of it', make(at('secrets'), token('t1')))
      await step('carol', 'empty the token', change(at('secrets', 't1'), { data: null }))
      await step(
        'bob',
        'create a deployment as robot',
        (api) => robot(api).create(at('deployments'), deployment('web', { replicas: 1 })),
        LONG_MS,
      )
      await step(
        'carol',
        'scale it as robot',
        (api) => robot(api).patch(at('deployments', 'web'), withReplicas(2)),
        LONG_MS,
      )
      await step(
        'alice',
        'image as robot',
        (api) => robot(api).patch(at('deployments', 'web'), withImage('i:2'), 'strategic-merge-patch'),
        LONG_MS,
      )
      await step('bob', 'delete account robot', remove(at('serviceaccounts', 'robot')), LONG_MS)
      await step('carol', 'create it again', make(at('serviceaccounts'), { metadata: { name: 'robot' } }))
      await step('bob', 'create another token', make(at('secrets'), token('t2')))
      await step(
        'alice',
        'move the token to nobody',
        change(at('secrets', 't2'), {
          metadata: { annotations: { 'kubernetes.io/service-account.name': 'nobody' } },
        }),
        LONG_MS,
      )
      await step('bob', 'delete the deployment', remove(at('deployments', 'web')), LONG_MS)
    },
  },
  {
    name: 'sg-volumes',
    play: async ({ step, at, name }) => {
      const volume = (called: string) => ({
        metadata: { name: called },
        spec: {
          ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
          ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: '/data' } },
        },
      })
      const claim = (called: string, of?: string) => ({
        metadata: { name: called },
        spec: {
          ...{ accessModes: ['ReadWriteOnce'], storageClassName: '', volumeName: of },
          resources: { requests: { storage: '1Gi' } },
        },
      })
      const one = at('persistentvolumes', 'sg-one')
      await step('alice', 'create claim early', make(at('persistentvolumeclaims'), claim('early', 'sg-one')))
      await step('bob', 'create volume one', make(at('persistentvolumes'), volume('sg-one')), 18_000)
      await step(
        'carol',
        'use it',
        make(at('pods'), {
          metadata: { name: 'user' },
          spec: {
            ...podSpec('i:1'),
            volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'early' } }],
          },
        }),
        LONG_MS,
      )
      await step(
        'alice',
        'delete claim early, which is in use',
        remove(at('persistentvolumeclaims', 'early')),
        LONG_MS,
      )
      await step('bob', 'delete its pod', remove(at('pods', 'user')), LONG_MS)
      await step('carol', 'let the volume be used again', change(one, { spec: { claimRef: null } }), LONG_MS)
      await step('alice', 'create claim late', make(at('persistentvolumeclaims'), claim('late')), LONG_MS)
      await step('bob', 'delete volume one, which is bound', remove(one), LONG_MS)
      await step('carol', 'delete claim late', remove(at('persistentvolumeclaims', 'late')), LONG_MS)
      await step(
        'alice',
        'volume two, reserved',
        make(at('persistentvolumes'), {
          ...volume('sg-two'),
          spec: { ...volume('x').spec, claimRef: { namespace: name, name: 'mine' } },
        }),
        LONG_MS,
      )
      await step('bob', 'create claim mine', make(at('persistentvolumeclaims'), claim('mine')), LONG_MS)
      await step(
        'carol',
        'delete volume two by policy',
        change(at('persistentvolumes', 'sg-two'), { spec: { persistentVolumeReclaimPolicy: 'Delete' } }),
      )
    },
  },
  {
    name: 'sh-jobs',
    play: async ({ step, at, aPod }) => {
      const spec = (parallelism: number) => ({
        ...{ parallelism, completions: 3, backoffLimit: 2 },
        template: { spec: { ...podSpec('j:1'), restartPolicy: 'Never' } },
      })
      const work = at('jobs', 'work')
      await step(
        'alice',
        'create job work',
        make(at('jobs'), { metadata: { name: 'work' }, spec: spec(1) }),
        LONG_MS,
      )
      await step('bob', 'three at once', change(work, { spec: { parallelism: 3 } }), LONG_MS)
      await step('carol', 'suspend it', change(work, { spec: { suspend: true } }), LONG_MS)
      await step(
        'alice',
        'change its template while suspended',
        edit(work, { spec: { template: { metadata: { labels: { a: 'b' } } } } }),
      )
      await step('bob', 'resume it', change(work, { spec: { suspend: false } }), LONG_MS)
      await step('carol', 'delete a pod', async (api) => api.delete(at('pods', await aPod())), LONG_MS)
      await step(
        'alice',
        'end a pod',
        async (api) =>
          api.patch(`${at('pods', await aPod(({ status }) => status.phase === 'Running'))}/status`, {
            status: { phase: 'Succeeded' },
          }),
        LONG_MS,
      )
      await step(
        'bob',
        'fail a pod',
        async (api) =>
          api.patch(`${at('pods', await aPod(({ status }) => status.phase === 'Running'))}/status`, {
            status: { phase: 'Failed' },
          }),
        25_000,
      )
      await step('carol', 'none at once', change(work, { spec: { parallelism: 0 } }), LONG_MS)
      await step('alice', 'let it end at 10 s', change(work, { spec: { activeDeadlineSeconds: 10 } }), 14_000)
      await step('bob', 'let it expire', change(work, { spec: { ttlSecondsAfterFinished: 3 } }), LONG_MS)
    },
  },
]
