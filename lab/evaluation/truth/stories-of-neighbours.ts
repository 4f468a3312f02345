import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, inTurn, make, remove } from './deeds.ts'
import { deployment, podSpec, podsOf, service, withImage, withLabels, withReplicas } from './manifests.ts'
import { each } from './stories-with-nodes.ts'
import type { Scene, Story } from './story.ts'

const LONG_MS = 11_000
/** Pods that were refused are tried again after longer and longer. */
const RETRIED_MS = 40_000
const HOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const ENFORCES = 'pod-security.kubernetes.io/enforce'

const pod = (name: string, labels: object = {}, more: object = {}): object => ({
  metadata: { name, labels },
  spec: { ...podSpec('i:1'), ...more },
})
const job = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { ...spec, template: { spec: { ...podSpec('j:1'), restartPolicy: 'Never' } } },
})
const volume = (name: string, storageClassName: string, more: object = {}): object => ({
  metadata: { name },
  spec: {
    ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName },
    ...{ persistentVolumeReclaimPolicy: 'Retain', hostPath: { path: '/data' }, ...more },
  },
})
const claimSpec = (storageClassName?: string): object => ({
  ...{ accessModes: ['ReadWriteOnce'], storageClassName },
  resources: { requests: { storage: '1Gi' } },
})
const using = (claimName: string): object => ({
  volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
})
/** A StatefulSet whose Pods have a claim each, if there is a class for those. */
const set = (name: string, replicas: number, storageClassName?: string): object => ({
  metadata: { name },
  spec: {
    ...{ replicas, serviceName: name, podManagementPolicy: 'Parallel' },
    ...podsOf(name, podSpec('d:1')),
    ...(storageClassName !== undefined && {
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec(storageClassName) }],
    }),
  },
})

/** The name of the ReplicaSet that has Pods. */
async function setInUse({ list }: Scene): Promise<string> {
  const sets = await list<{ metadata: { name: string }; spec: { replicas: number } }>('replicasets')
  return sets.find(({ spec }) => spec.replicas > 0)!.metadata.name
}

/** Stories of what people do in a namespace that others use too. */
export const STORIES_OF_NEIGHBOURS: readonly Story[] = [
  {
    name: 'tf-shared',
    play: async (scene) => {
      const { at } = scene
      const quota = (pods: string): object => ({ spec: { hard: { pods } } })
      const few = at('resourcequotas', 'few')
      const web = (name: string, replicas: number) => make(at('deployments'), deployment(name, { replicas }))
      await inTurn(
        scene,
        [
          'alice',
          'create a quota of 4 pods',
          make(at('resourcequotas'), { metadata: { name: 'few' }, ...quota('4') }),
        ],
        ['bob', 'create deployment one x3', web('one', 3), LONG_MS],
        ['carol', 'create deployment two x3, of which one fits', web('two', 3), LONG_MS],
        [
          'alice',
          'create job work, which does not fit',
          make(at('jobs'), job('work', { parallelism: 2 })),
          LONG_MS,
        ],
        ['bob', 'scale one to 2', change(at('deployments', 'one', 'scale'), withReplicas(2)), RETRIED_MS],
        ['carol', 'raise the quota to 8', change(few, quota('8')), RETRIED_MS],
        ['alice', 'lower the quota to 3', change(few, quota('3'))],
        [
          'bob',
          'image i:2 of one, which does not fit',
          edit(at('deployments', 'one'), withImage('i:2')),
          LONG_MS,
        ],
        ['carol', 'delete deployment two', remove(at('deployments', 'two')), RETRIED_MS],
        ['alice', 'delete the job', remove(at('jobs', 'work')), RETRIED_MS],
        ['bob', 'delete the quota', remove(few), RETRIED_MS],
        ['carol', 'delete deployment one', remove(at('deployments', 'one'))],
      )
    },
  },
  {
    name: 'tg-enforced',
    play: async (scene) => {
      const { name, at } = scene
      const level = (to: string) => change(`/api/v1/namespaces/${name}`, withLabels({ [ENFORCES]: to }))
      const daemon = { metadata: { name: 'agent' }, spec: podsOf('agent', podSpec('a:1')) }
      const asked = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
      const hook = {
        metadata: { name: 'tg-hook' },
        webhooks: [
          {
            ...{ name: 'tg.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
            clientConfig: { url: 'https://127.0.0.1:1/' },
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
            rules: [asked],
          },
        ],
      }
      await inTurn(
        scene,
        ['alice', 'enforce a restricted level', level('restricted')],
        [
          'bob',
          'create deployment web x2, which is refused',
          make(at('deployments'), deployment('web', { replicas: 2 })),
          LONG_MS,
        ],
        ['carol', 'allow all', level('privileged'), RETRIED_MS],
        ['alice', 'enforce it again', level('restricted')],
        [
          'bob',
          'create statefulset db x2, which is refused',
          make(at('statefulsets'), set('db', 2)),
          LONG_MS,
        ],
        ['carol', 'allow all again', level('privileged'), RETRIED_MS],
        ['alice', 'enforce it a third time', level('restricted')],
        ['bob', 'create job work, which is refused', make(at('jobs'), job('work')), LONG_MS],
        ['alice', 'create daemonset agent, which is refused', make(at('daemonsets'), daemon), LONG_MS],
        ['carol', 'allow all a third time', level('privileged'), RETRIED_MS],
        ['alice', 'have a webhook asked that does not answer', make(HOOKS, hook), LONG_MS],
        [
          'bob',
          'scale web to 3, which is refused',
          change(at('deployments', 'web', 'scale'), withReplicas(3)),
          LONG_MS,
        ],
        ['carol', 'delete that webhook', remove(`${HOOKS}/tg-hook`), RETRIED_MS],
        ['bob', 'delete the daemonset', remove(at('daemonsets', 'agent')), LONG_MS],
        ['alice', 'delete the job', remove(at('jobs', 'work'))],
        ['carol', 'delete the deployment', remove(at('deployments', 'web'))],
        ['bob', 'delete the statefulset', remove(at('statefulsets', 'db'))],
      )
    },
  },
  {
    name: 'th-taken',
    play: async (scene) => {
      const { at } = scene
      const claim = at('persistentvolumeclaims', 'data-store-1')
      await inTurn(
        scene,
        ['alice', 'create pod db-0 of nobody', make(at('pods'), pod('db-0', { app: 'other' })), LONG_MS],
        [
          'bob',
          'create statefulset db x2, whose first name is taken',
          make(at('statefulsets'), set('db', 2)),
          LONG_MS,
        ],
        ['carol', 'delete pod db-0 of nobody', remove(at('pods', 'db-0')), RETRIED_MS],
        [
          'alice',
          'create four volumes',
          (api) =>
            each(['th-a', 'th-b', 'th-c', 'th-d'], (one) =>
              api.create(at('persistentvolumes'), volume(one, 'th')),
            ),
        ],
        [
          'bob',
          'create statefulset store x2 with claims',
          make(at('statefulsets'), set('store', 2, 'th')),
          20_000,
        ],
        ['carol', 'delete the claim of store-1, which stays', remove(claim)],
        ['alice', 'delete store-1', remove(at('pods', 'store-1')), 25_000],
        ['bob', 'scale store to 1', change(at('statefulsets', 'store', 'scale'), withReplicas(1)), LONG_MS],
        ['carol', 'delete the claim of store-1 again', remove(claim), LONG_MS],
        ['alice', 'scale store to 2', change(at('statefulsets', 'store', 'scale'), withReplicas(2)), 25_000],
        ['bob', 'delete statefulset store', remove(at('statefulsets', 'store')), LONG_MS],
        ['carol', 'delete statefulset db', remove(at('statefulsets', 'db')), LONG_MS],
        [
          'alice',
          'delete the claims',
          (api) =>
            each(['data-store-0', 'data-store-1'], (one) => api.delete(at('persistentvolumeclaims', one))),
        ],
        [
          'bob',
          'delete the volumes',
          (api) => each(['th-a', 'th-b', 'th-c', 'th-d'], (one) => api.delete(at('persistentvolumes', one))),
        ],
      )
    },
  },
  {
    name: 'ti-volumes',
    play: async (scene) => {
      const { name, at } = scene
      const slow = { metadata: { name: 'ti-slow' }, provisioner: 'example.com/disks' }
      const template = { spec: claimSpec('ti-fast') }
      const scratch = { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: template } }] }
      const claim = (called: string, of?: string) =>
        make(at('persistentvolumeclaims'), { metadata: { name: called }, spec: claimSpec(of) })
      const bound = { claimRef: { namespace: name, name: 'late' } }
      const size = { storage: '2Gi' }
      const usual = { 'storageclass.kubernetes.io/is-default-class': 'true' }
      const attributes = '/apis/storage.k8s.io/v1/volumeattributesclasses'
      const gold = { metadata: { name: 'ti-gold' }, driverName: 'example.com', parameters: { a: 'b' } }
      await inTurn(
        scene,
        [
          'alice',
          'create a class that waits for pods',
          make(at('storageclasses'), {
            ...slow,
            ...{ volumeBindingMode: 'WaitForFirstConsumer', allowVolumeExpansion: true },
          }),
        ],
        ['bob', 'create claim late', claim('late', 'ti-slow'), LONG_MS],
        ['carol', 'create pod user of it', make(at('pods'), pod('user', {}, using('late'))), LONG_MS],
        [
          'alice',
          'create a volume for it, as a provisioner does',
          make(at('persistentvolumes'), volume('ti-late', 'ti-slow', bound)),
          20_000,
        ],
        [
          'bob',
          'create pod scratch with a claim of its own',
          make(at('pods'), pod('scratch', {}, scratch)),
          LONG_MS,
        ],
        [
          'carol',
          'create a volume for that',
          make(at('persistentvolumes'), volume('ti-tmp', 'ti-fast')),
          25_000,
        ],
        ['alice', 'delete pod scratch', remove(at('pods', 'scratch')), LONG_MS],
        [
          'bob',
          'ask for more of claim late',
          change(at('persistentvolumeclaims', 'late'), { spec: { resources: { requests: size } } }),
        ],
        [
          'carol',
          'give the volume more',
          change(at('persistentvolumes', 'ti-late'), { spec: { capacity: size } }),
        ],
        [
          'carol',
          'tell the claim of it',
          change(`${at('persistentvolumeclaims', 'late')}/status`, { status: { capacity: size } }),
        ],
        ['alice', 'create claim plain without a class', claim('plain'), LONG_MS],
        [
          'bob',
          'create a class that is the usual one',
          make(at('storageclasses'), { ...slow, metadata: { name: 'ti-usual', annotations: usual } }),
          25_000,
        ],
        [
          'carol',
          'create a volume of it',
          make(at('persistentvolumes'), volume('ti-plain', 'ti-usual')),
          25_000,
        ],
        ['alice', 'create a class of attributes', make(attributes, gold)],
        ['bob', 'delete the class of attributes', remove(`${attributes}/ti-gold`)],
        ['carol', 'delete pod user', remove(at('pods', 'user')), LONG_MS],
        [
          'alice',
          'delete both claims',
          (api) => each(['late', 'plain'], (one) => api.delete(at('persistentvolumeclaims', one))),
          LONG_MS,
        ],
        [
          'bob',
          'delete the volumes',
          (api) => each(['ti-late', 'ti-tmp', 'ti-plain'], (one) => api.delete(at('persistentvolumes', one))),
        ],
        [
          'carol',
          'delete both classes',
          (api) => each(['ti-slow', 'ti-usual'], (one) => api.delete(at('storageclasses', one))),
        ],
      )
    },
  },
  {
    name: 'tj-disowned',
    play: async (scene) => {
      const { at, aPod } = scene
      const web = at('deployments', 'web')
      const disown = { metadata: { ownerReferences: null } }
      const sets = at('replicasets')
      let first = ''
      await inTurn(
        scene,
        [
          'alice',
          'create deployment web x2',
          make(at('deployments'), deployment('web', { replicas: 2 })),
          LONG_MS,
        ],
        [
          'bob',
          'take the owner of a pod away',
          async (api) => api.patch(at('pods', await aPod()), disown),
          LONG_MS,
        ],
        [
          'carol',
          'take the owner of the set away',
          async (api) => api.patch(`${sets}/${await setInUse(scene)}`, disown),
          LONG_MS,
        ],
        [
          'alice',
          'label the set out of the deployment',
          async (api) => {
            first = await setInUse(scene)
            return api.patch(`${sets}/${first}`, withLabels({ app: 'gone' }))
          },
          LONG_MS,
        ],
        ['bob', 'image i:2', edit(web, withImage('i:2')), LONG_MS],
        [
          'carol',
          'label the set back',
          async (api) => api.patch(`${sets}/${first}`, withLabels({ app: 'web' })),
          LONG_MS,
        ],
        [
          'alice',
          'create a pod that belongs to the set in use',
          async (api) => {
            const [, hash = ''] = /-([a-z0-9]+)$/.exec(await setInUse(scene)) ?? []
            return api.create(at('pods'), pod('bare', { app: 'web', 'pod-template-hash': hash }))
          },
          LONG_MS,
        ],
        [
          'bob',
          'label a pod out of the set',
          async (api) => api.patch(at('pods', await aPod()), withLabels({ 'pod-template-hash': null })),
          LONG_MS,
        ],
        ['carol', 'undo to i:1', edit(web, withImage('i:1')), LONG_MS],
        ['alice', 'delete deployment web', remove(web), LONG_MS],
        ['bob', 'delete what is left', async (api) => api.delete(at('pods')), LONG_MS],
      )
    },
  },
  {
    name: 'tk-forsaken',
    play: async (scene) => {
      const { name, at } = scene
      const other = '/api/v1/namespaces/tk-other'
      const maps = at('configmaps').replace(name, 'tk-other')
      const held = { metadata: { name: 'held', finalizers: ['example.com/by-hand'] } }
      const web = at('deployments').replace(name, 'tk-other')
      const again = { metadata: { name: 'tk-other' } }
      await inTurn(
        scene,
        ['alice', 'create namespace tk-other', make('/api/v1/namespaces', again)],
        ['bob', 'create deployment web x2 there', make(web, deployment('web', { replicas: 2 })), LONG_MS],
        ['carol', 'create configmap held there', make(maps, held)],
        ['alice', 'delete namespace tk-other, which stays', remove(other), 20_000],
        [
          'bob',
          'annotate configmap held meanwhile',
          change(`${maps}/held`, { metadata: { annotations: { a: 'b' } } }),
        ],
        [
          'carol',
          'delete the finalizer of namespace tk-other',
          async (api: KubeApi) => {
            const now = await api.get<{ spec: object }>(other)
            return api.replace(`${other}/finalize`, { ...now, spec: { finalizers: [] } })
          },
          LONG_MS,
        ],
        ['alice', 'create namespace tk-other again', make('/api/v1/namespaces', again), LONG_MS],
        [
          'bob',
          'delete the finalizer of configmap held',
          change(`${maps}/held`, { metadata: { finalizers: null } }),
          LONG_MS,
        ],
        ['carol', 'create configmap held again', make(maps, { metadata: { name: 'held' } })],
        ['alice', 'create service web there', make(maps.replace('configmaps', 'services'), service('web'))],
        ['bob', 'delete namespace tk-other again', remove(other), 20_000],
        ['carol', 'create configmap end', make(at('configmaps'), { metadata: { name: 'end' } })],
      )
    },
  },
  {
    name: 'tu-tainted',
    play: async (scene) => {
      const { at } = scene
      const driver = 'tu.example.com'
      const rule = { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] }
      const slice = at('resourceslices', 'tu-node-1')
      const devices = (...taints: object[]): object => ({ spec: { devices: [{ name: 'one', taints }] } })
      const taint = { key: 'tu.example.com/broken', effect: 'NoExecute' }
      const told = {
        metadata: { name: 'tu-node-1' },
        spec: {
          ...{ driver, nodeName: 'node-1', devices: [{ name: 'one' }] },
          pool: { name: 'tu', generation: 1, resourceSliceCount: 1 },
        },
      }
      const template = {
        metadata: { name: 'one' },
        spec: { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'tu-gpu' } }] } } },
      }
      const one = deployment('one', { replicas: 1 }) as { spec: { template: { spec: object } } }
      Object.assign(one.spec.template.spec, {
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }],
      })
      await inTurn(
        scene,
        [
          'alice',
          'create a class of devices',
          make(at('deviceclasses'), { metadata: { name: 'tu-gpu' }, spec: rule }),
        ],
        ['bob', 'create a template of claims', make(at('resourceclaimtemplates'), template)],
        ['carol', 'tell of a device', make(at('resourceslices'), told)],
        ['alice', 'create deployment one', make(at('deployments'), one), LONG_MS],
        ['bob', 'taint the device', change(slice, devices(taint)), 20_000],
        ['carol', 'untaint the device', change(slice, devices()), 20_000],
        ['alice', 'scale to 0', change(at('deployments', 'one', 'scale'), withReplicas(0)), LONG_MS],
        ['bob', 'delete the device', remove(slice)],
        ['carol', 'delete the class', remove(at('deviceclasses', 'tu-gpu'))],
        ['alice', 'delete deployment one', remove(at('deployments', 'one'))],
      )
    },
  },
]
