import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, make, remove } from './deeds.ts'
import { deployment, podSpec, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const STRATEGIC = 'strategic-merge-patch'
/** The ReplicaSet controller tries again after longer and longer. */
const LONGEST_RETRY_MS = 240_000
const NAMED_PORT = [{ port: 80 }]

/** What makes one object another's, as the garbage collector reads it. */
async function ownerNamed({ list }: Scene, name: string): Promise<object> {
  const maps = await list('configmaps')
  const { uid } = maps.find(({ metadata }) => metadata.name === name)!.metadata
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }
}

/** Stories of what Pods are made with and found by, of claims, limits and owners. */
export const STORIES_OF_SETTINGS: readonly Story[] = [
  {
    name: 'u1-applied',
    play: async ({ step, at }) => {
      const web = at('deployments', 'web')
      const whole = { apiVersion: 'apps/v1', kind: 'Deployment', ...deployment('web', { replicas: 2 }) }
      const part = (spec: object): object => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web' },
        spec,
      })
      /** Tries without force first, and is told who else wants it. */
      const force =
        (object: object, manager: string) =>
        async (api: KubeApi): Promise<unknown> => {
          const isRefused = await api.apply(web, object, manager).then(
            () => false,
            (error: unknown) => String(error).includes('is answered 409'),
          )
          if (!isRefused) throw new Error('nobody else wanted it')
          return api.apply(web, object, manager, true)
        }
      const image = { template: { spec: { containers: [{ name: 'c', image: 'i:2' }] } } }
      await step('alice', 'apply deployment web x2', (api) => api.apply(web, whole, 'alice-apply'))
      await step('bob', 'apply x4 by force', force(part({ replicas: 4 }), 'bob-apply'))
      await step('carol', 'apply another image by force', force(part(image), 'carol-apply'))
      await step('bob', 'apply nothing any more', (api) => api.apply(web, part({}), 'bob-apply'))
      await step('alice', 'apply all of it by force again', force(whole, 'alice-apply'))
      await step('carol', 'replace it with x3', async (api) => {
        const now = await api.get<{ spec: object }>(web)
        return api.replace(web, { ...now, spec: { ...now.spec, replicas: 3 } })
      })
    },
  },
  {
    name: 'u2-owners',
    play: async (scene) => {
      const { step, at } = scene
      const map = (name: string, ownerReferences: object[] = []): object => ({
        metadata: { name, ownerReferences },
        data: { a: name },
      })
      await step('alice', 'create configmap one', make(at('configmaps'), map('one')))
      await step('bob', 'create configmap two', make(at('configmaps'), map('two')))
      const both = [await ownerNamed(scene, 'one'), await ownerNamed(scene, 'two')]
      await step('carol', 'create a configmap of both', make(at('configmaps'), map('shared', both)))
      await step('alice', 'delete the first owner', remove(at('configmaps', 'one')))
      await step(
        'bob',
        'delete the second owner, in the foreground',
        remove(at('configmaps', 'two'), 'Foreground'),
      )
      await step('alice', 'create configmap three', make(at('configmaps'), map('three')))
      const third = [await ownerNamed(scene, 'three')]
      await step('bob', 'create a configmap of it', make(at('configmaps'), map('own', third)))
      await step('carol', 'delete it, and orphan its own', remove(at('configmaps', 'three'), 'Orphan'))
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('carol', 'delete it in the foreground', remove(at('deployments', 'web'), 'Foreground'))
    },
  },
  {
    name: 'u3-limits',
    play: async ({ step, at, running }) => {
      const limits = (cpu: string): object => ({
        spec: { limits: [{ type: 'Container', default: { cpu }, defaultRequest: { cpu } }] },
      })
      const bare = { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: 'i:1' }] }
      const web = deployment('web', { replicas: 4 }) as { spec: { template: object } }
      const plain = { ...web, spec: { ...web.spec, template: { ...web.spec.template, spec: bare } } }
      const quota = (cpu: string): object => ({
        spec: { hard: { 'requests.cpu': cpu, 'count/configmaps': '5' } },
      })
      await step(
        'alice',
        'create a range of limits',
        make(at('limitranges'), { metadata: { name: 'small' }, ...limits('200m') }),
      )
      await step(
        'bob',
        'create a quota of 500m',
        make(at('resourcequotas'), { metadata: { name: 'few' }, ...quota('500m') }),
      )
      await step('carol', 'create deployment web x4', make(at('deployments'), plain))
      await step('bob', 'raise the quota to 2 cpu', change(at('resourcequotas', 'few'), quota('2')))
      await running(4, LONGEST_RETRY_MS)
      await step('alice', 'lower the limits to 100m', change(at('limitranges', 'small'), limits('100m')))
      await step('carol', 'image i:2', (api) =>
        api.patch(at('deployments', 'web'), withImage('i:2'), STRATEGIC),
      )
      await step('bob', 'create a configmap', make(at('configmaps'), { metadata: { name: 'one' }, data: {} }))
      await step('alice', 'delete the quota', remove(at('resourcequotas', 'few')))
    },
  },
  {
    name: 'u4-checksum',
    play: async ({ step, at }) => {
      const settings = (a: string): object => ({ metadata: { name: 'settings' }, data: { a } })
      const web = at('deployments', 'web')
      const checksum = (sum: string): object => ({
        spec: { template: { metadata: { annotations: { 'checksum/config': sum } } } },
      })
      await step('alice', 'create configmap settings', make(at('configmaps'), settings('1')))
      await step(
        'bob',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('carol', 'change the settings', change(at('configmaps', 'settings'), settings('2')))
      await step('bob', 'note their checksum', change(web, checksum('2')))
      await step('alice', 'label the deployment', change(web, withLabels({ team: 'a' })))
      await step('carol', 'annotate it', change(web, { metadata: { annotations: { note: 'x' } } }))
      await step('alice', 'delete the settings', remove(at('configmaps', 'settings')))
    },
  },
  {
    name: 'u5-services',
    play: async ({ step, at, aPod }) => {
      const [blue, green] = ['blue', 'green'].map((name) => deployment(name, { replicas: 2 }))
      const web = at('services', 'web')
      const spec = (fields: object): object => ({ spec: fields })
      await step('alice', 'create deployment blue x2', make(at('deployments'), blue!))
      await step('bob', 'create deployment green x2', make(at('deployments'), green!))
      await step(
        'carol',
        'create service web of blue',
        make(at('services'), { ...service('web'), spec: { selector: { app: 'blue' }, ports: NAMED_PORT } }),
      )
      await step('alice', 'switch it to green', change(web, spec({ selector: { app: 'green' } })))
      await step('bob', 'give it another port', change(web, spec({ ports: [{ port: 81, targetPort: 80 }] })))
      await step('carol', 'make it a node port', change(web, spec({ type: 'NodePort' })))
      const pod = await aPod(({ metadata }) => metadata.name.startsWith('green'))
      await step(
        'alice',
        'let a pod be unready',
        change(`${at('pods', pod)}/status`, { status: { conditions: [{ type: 'Ready', status: 'False' }] } }),
      )
      await step('bob', 'scale green to 3', change(at('deployments', 'green', 'scale'), withReplicas(3)))
      await step('carol', 'label the service', change(web, withLabels({ team: 'a' })))
      const rule = {
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 81 } } } },
          ],
        },
      }
      await step(
        'alice',
        'create an ingress',
        make(at('ingresses'), { metadata: { name: 'web' }, spec: { rules: [rule] } }),
      )
      await step(
        'bob',
        'create a network policy',
        make(at('networkpolicies'), { metadata: { name: 'none' }, spec: { podSelector: {} } }),
      )
      await step('carol', 'delete the service', remove(web))
    },
  },
  {
    name: 'u6-mirror',
    play: async ({ step, at }) => {
      const listed = (...ips: string[]): object => ({
        subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }],
      })
      await step(
        'alice',
        'create a service that selects nothing',
        make(at('services'), { metadata: { name: 'outside' }, spec: { ports: NAMED_PORT } }),
      )
      await step(
        'bob',
        'create its endpoints by hand',
        make(at('endpoints'), { metadata: { name: 'outside' }, ...listed('192.0.2.1') }),
      )
      await step(
        'carol',
        'add an endpoint',
        change(at('endpoints', 'outside'), listed('192.0.2.1', '192.0.2.2')),
      )
      await step('alice', 'label the service', change(at('services', 'outside'), withLabels({ team: 'a' })))
      await step('bob', 'delete the endpoints', remove(at('endpoints', 'outside')))
      await step('carol', 'delete the service', remove(at('services', 'outside')))
    },
  },
  {
    name: 'u7-claims',
    play: async ({ step, at }) => {
      const late = {
        metadata: { name: 'u7-late' },
        provisioner: 'kubernetes.io/no-provisioner',
        volumeBindingMode: 'WaitForFirstConsumer',
      }
      const soon = { ...late, metadata: { name: 'u7-soon' }, volumeBindingMode: 'Immediate' }
      const volume = (name: string, storageClassName: string): object => ({
        metadata: { name },
        spec: {
          ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName },
          ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: `/data/${name}` } },
        },
      })
      const claim = (name: string, storageClassName: string): object => ({
        metadata: { name },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName,
          resources: { requests: { storage: '1Gi' } },
        },
      })
      const using = (name: string, claimName: string): object => ({
        metadata: { name },
        spec: { ...podSpec('i:1'), volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] },
      })
      await step('alice', 'create both storage classes', async (api) => [
        await api.create(at('storageclasses'), late),
        await api.create(at('storageclasses'), soon),
      ])
      await step(
        'bob',
        'create claim soon, which waits',
        make(at('persistentvolumeclaims'), claim('soon', 'u7-soon')),
      )
      await step('carol', 'create a volume for it', make(at('persistentvolumes'), volume('u7-a', 'u7-soon')))
      await step('bob', 'create claim late', make(at('persistentvolumeclaims'), claim('late', 'u7-late')))
      await step(
        'carol',
        'create a volume for that',
        make(at('persistentvolumes'), volume('u7-b', 'u7-late')),
      )
      await step('alice', 'create a pod that uses it', make(at('pods'), using('app', 'late')))
      await step('bob', 'delete the claim in use', remove(at('persistentvolumeclaims', 'late')))
      await step('carol', 'delete the pod', remove(at('pods', 'app')))
      await step('alice', 'delete the other claim', remove(at('persistentvolumeclaims', 'soon')))
      await step('carol', 'delete both volumes', async (api) => [
        await api.delete(at('persistentvolumes', 'u7-a')),
        await api.delete(at('persistentvolumes', 'u7-b')),
      ])
    },
  },
  {
    name: 'u8-devices',
    play: async ({ step, at }) => {
      const driver = 'u8.example.com'
      const slice = {
        metadata: { name: 'u8-node-1' },
        spec: {
          driver,
          nodeName: 'node-1',
          pool: { name: 'u8', generation: 1, resourceSliceCount: 1 },
          devices: [{ name: 'one' }],
        },
      }
      const rule = { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] }
      const template = {
        metadata: { name: 'one' },
        spec: { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'u8-gpu' } }] } } },
      }
      const using = (name: string): object => ({
        metadata: { name },
        spec: { ...podSpec('i:1'), resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }] },
      })
      await step(
        'alice',
        'create a class of devices',
        make(at('deviceclasses'), { metadata: { name: 'u8-gpu' }, spec: rule }),
      )
      await step('bob', 'create a template of claims', make(at('resourceclaimtemplates'), template))
      await step('carol', 'create pod first, which waits', make(at('pods'), using('first')))
      await step('alice', 'tell of a device', make(at('resourceslices'), slice))
      await step('bob', 'create pod second, which waits', make(at('pods'), using('second')))
      await step('carol', 'delete pod first', remove(at('pods', 'first')))
      await step('alice', 'delete pod second', remove(at('pods', 'second')))
      await step('bob', 'delete the device and its class', async (api) => [
        await api.delete(at('resourceslices', 'u8-node-1')),
        await api.delete(at('deviceclasses', 'u8-gpu')),
      ])
    },
  },
  {
    name: 'u9-accounts',
    play: async ({ step, at }) => {
      const annotations = { 'kubernetes.io/service-account.name': 'robot' }
      const token = (name: string): object => ({
        metadata: { name, annotations },
        type: 'kubernetes.io/service-account-token',
      })
      const rules = (resource: string): object[] => [
        { apiGroups: [''], resources: [resource], verbs: ['get'] },
      ]
      const role = (name: string, labels: object, resource: string): object => ({
        metadata: { name, labels },
        rules: rules(resource),
      })
      const [inner, outer] = [{ 'u9.example.com/in': 'y' }, { 'u9.example.com/out': 'y' }]
      const aggregated = (name: string, labels: object, of: object): object => ({
        metadata: { name, labels },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: of }] },
        rules: [],
      })
      await step(
        'alice',
        'create service account robot',
        make(at('serviceaccounts'), { metadata: { name: 'robot' } }),
      )
      await step('bob', 'create a token', make(at('secrets'), token('old')))
      await step('carol', 'create another token', make(at('secrets'), token('new')))
      await step('alice', 'delete the old token', remove(at('secrets', 'old')))
      await step(
        'bob',
        'create an aggregated role',
        make(at('clusterroles'), aggregated('u9-outer', {}, outer)),
      )
      await step(
        'carol',
        'create another that it has',
        make(at('clusterroles'), aggregated('u9-inner', outer, inner)),
      )
      await step('alice', 'create a role of that', make(at('clusterroles'), role('u9-part', inner, 'pods')))
      await step(
        'bob',
        'give it other rules',
        change(at('clusterroles', 'u9-part'), { rules: rules('nodes') }),
      )
      await step(
        'carol',
        'take its label away',
        change(at('clusterroles', 'u9-part'), withLabels({ 'u9.example.com/in': null })),
      )
    },
  },
]
