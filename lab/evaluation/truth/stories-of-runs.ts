import { setTimeout as pause } from 'node:timers/promises'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { FINISHES } from '../../harness/kubernetes/kwok-stages.ts'
import { change, edit, inTurn, make, remove } from './deeds.ts'
import { deployment, podSpec, podsOf, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { SeenObject } from './recorder.ts'
import type { Pod, Scene, Story } from './story.ts'

const LONG_MS = 11_000
const UNDER_WAY_MS = 1_500
/** A Job makes a failed Pod anew after longer and longer. */
const BACK_OFF_MS = 16_000
/** An autoscaler looks every 15 s. */
const MEASURED_MS = 22_000
const AT_ONCE = 0

const job = (name: string, spec: object, image = 'j:1', annotations: object = {}): object => ({
  metadata: { name },
  spec: {
    ...spec,
    template: { metadata: { annotations }, spec: { ...podSpec(image), restartPolicy: 'Never' } },
  },
})
const set = (replicas: number, spec: object = {}): object => ({
  metadata: { name: 'db' },
  spec: { replicas, serviceName: 'db', ...spec, ...podsOf('db', podSpec('d:1')) },
})
const ready = (status: 'True' | 'False'): object => ({ status: { conditions: [{ type: 'Ready', status }] } })
const isOf =
  (name: string) =>
  ({ metadata, status: { phase } }: Pod): boolean =>
    metadata.name.startsWith(`${name}-`) && phase === 'Running'

const ends =
  ({ at, aPod }: Scene, name: string, phase: 'Failed' | 'Succeeded') =>
  async (api: KubeApi): Promise<unknown> =>
    api.patch(`${at('pods', await aPod(isOf(name)))}/status`, { status: { phase } })

/** Stories of what runs to an end, of what is scaled, and of controllers that begin anew in the midst of it. */
export const STORIES_OF_RUNS: readonly Story[] = [
  {
    name: 'tm-batches',
    play: async (scene) => {
      const { at, aPod } = scene
      const work = at('jobs', 'work')
      const both = (count: number) => change(work, { spec: { completions: count, parallelism: count } })
      const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3 }
      const ignored = { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }
      const brief = job('brief', { ttlSecondsAfterFinished: 600 }, 'j:1', { [FINISHES]: 'y' })
      const evict = async (api: KubeApi): Promise<unknown> => {
        const name = await aPod(isOf('moved'))
        const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
        await api.create(at('pods', name, 'eviction'), eviction)
        return api.get(at('jobs', 'moved'))
      }
      await inTurn(
        scene,
        ['alice', 'create job work of 3', make(at('jobs'), job('work', indexed)), LONG_MS],
        ['bob', 'make it 2', both(2), LONG_MS],
        ['carol', 'make it 4', both(4), LONG_MS],
        ['alice', 'let one of work succeed', ends(scene, 'work', 'Succeeded'), LONG_MS],
        ['bob', 'make it 1', both(1), LONG_MS],
        [
          'carol',
          'create job each, which counts by index',
          make(at('jobs'), job('each', { ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 1 })),
          LONG_MS,
        ],
        ['alice', 'let one of each fail', ends(scene, 'each', 'Failed'), BACK_OFF_MS],
        ['bob', 'let another of each fail', ends(scene, 'each', 'Failed'), BACK_OFF_MS],
        [
          'carol',
          'create job moved, which does not count evictions',
          make(at('jobs'), job('moved', { podFailurePolicy: { rules: [ignored] }, backoffLimit: 0 })),
          LONG_MS,
        ],
        ['alice', 'evict its pod', evict, BACK_OFF_MS],
        [
          'bob',
          'create job late, which replaces what has failed',
          make(at('jobs'), job('late', { podReplacementPolicy: 'Failed', parallelism: 2 })),
          LONG_MS,
        ],
        [
          'carol',
          'delete a pod of late',
          async (api) => api.delete(at('pods', await aPod(isOf('late')))),
          BACK_OFF_MS,
        ],
        ['alice', 'suspend job late', change(at('jobs', 'late'), { spec: { suspend: true } }), LONG_MS],
        ['bob', 'resume job late', change(at('jobs', 'late'), { spec: { suspend: false } }), LONG_MS],
        ['carol', 'delete job late', remove(at('jobs', 'late'), 'Foreground'), LONG_MS],
        ['alice', 'delete job moved', remove(at('jobs', 'moved')), LONG_MS],
        ['bob', 'create job brief, which is kept for long', make(at('jobs'), brief), LONG_MS],
        ['carol', 'delete job brief before', remove(at('jobs', 'brief')), LONG_MS],
      )
    },
  },
  {
    name: 'tn-timed',
    play: async (scene) => {
      const { name, at, byItself, list } = scene
      const { spec } = job('x', { backoffLimit: 2 }) as { spec: object }
      const tick = at('cronjobs', 'tick')
      const made = ({ kind, metadata }: SeenObject): boolean => kind === 'Job' && metadata.namespace === name
      const cron = {
        schedule: '* * * * *',
        suspend: true,
        concurrencyPolicy: 'Forbid',
        jobTemplate: { spec },
      }
      const { spec: other } = job('x', { backoffLimit: 2 }, 'j:2') as { spec: object }
      await inTurn(
        scene,
        [
          'alice',
          'create cronjob tick, suspended',
          make(at('cronjobs'), { metadata: { name: 'tick' }, spec: cron }),
        ],
        ['bob', 'resume it', change(tick, { spec: { suspend: false } }), AT_ONCE],
      )
      await byItself('its time has come', made)
      await inTurn(
        scene,
        ['carol', 'image j:2 of what comes', edit(tick, { spec: { jobTemplate: { spec: other } } })],
        ['alice', 'run it in january only', change(tick, { spec: { schedule: '0 0 1 1 *' } })],
        ['bob', 'delete the pod of its job', (api) => api.delete(at('pods')), BACK_OFF_MS],
        [
          'carol',
          'let its job succeed',
          async (api) => {
            const [one] = await scene.pods(({ status }) => status.phase === 'Running')
            return api.patch(`${at('pods', one!.metadata.name)}/status`, { status: { phase: 'Succeeded' } })
          },
          BACK_OFF_MS,
        ],
        ['alice', 'keep no finished job', change(tick, { spec: { successfulJobsHistoryLimit: 0 } }), LONG_MS],
        [
          'bob',
          'create a job of it by hand',
          async (api) => {
            const [{ metadata }] = (await list('cronjobs')) as [SeenObject]
            const owner = {
              apiVersion: 'batch/v1',
              kind: 'CronJob',
              name: 'tick',
              uid: metadata.uid,
              controller: true,
            }
            return api.create(at('jobs'), { metadata: { name: 'by-hand', ownerReferences: [owner] }, spec })
          },
          LONG_MS,
        ],
        ['carol', 'delete the cronjob, and orphan its own', remove(tick, 'Orphan'), LONG_MS],
        ['alice', 'delete the job', remove(at('jobs', 'by-hand')), LONG_MS],
      )
    },
  },
  {
    name: 'to-scaled',
    play: async (scene) => {
      const { at } = scene
      const [web, api] = [at('deployments', 'web'), at('deployments', 'api')]
      const scaler = at('horizontalpodautoscalers', 'it')
      const target = (name: string): object => ({
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      })
      const spec = { ...target('web'), minReplicas: 2, maxReplicas: 5 }
      await inTurn(
        scene,
        [
          'alice',
          'create deployment web x1',
          make(at('deployments'), deployment('web', { replicas: 1 })),
          LONG_MS,
        ],
        [
          'bob',
          'create deployment api x1',
          make(at('deployments'), deployment('api', { replicas: 1 })),
          LONG_MS,
        ],
        [
          'carol',
          'create an autoscaler of web, from 2',
          make(at('horizontalpodautoscalers'), { metadata: { name: 'it' }, spec }),
          MEASURED_MS,
        ],
        ['alice', 'let it scale api instead', change(scaler, { spec: target('api') }), MEASURED_MS],
        ['bob', 'pause api', change(api, { spec: { paused: true } })],
        ['carol', 'raise its minimum to 3', change(scaler, { spec: { minReplicas: 3 } }), MEASURED_MS],
        ['alice', 'scale api to 0, which stops it', change(`${api}/scale`, withReplicas(0)), MEASURED_MS],
        ['bob', 'scale api to 1, which starts it', change(`${api}/scale`, withReplicas(1)), MEASURED_MS],
        ['carol', 'scale web to 3', change(`${web}/scale`, withReplicas(3)), LONG_MS],
        ['alice', 'delete api', remove(api), MEASURED_MS],
        ['bob', 'create api again', make(at('deployments'), deployment('api', { replicas: 1 })), MEASURED_MS],
        ['carol', 'delete the autoscaler', remove(scaler)],
        ['alice', 'delete web', remove(web)],
      )
    },
  },
  {
    name: 'tp-restarted',
    stopsPrograms: true,
    play: async (scene) => {
      const { at, without, quiet, running, step } = scene
      const web = at('deployments', 'web')
      const restarted = async (): Promise<void> => {
        await without('kube-controller-manager', () => pause(UNDER_WAY_MS))
        await quiet(LONG_MS)
      }
      await inTurn(
        scene,
        [
          'alice',
          'create deployment web x4',
          make(at('deployments'), deployment('web', { replicas: 4 })),
          LONG_MS,
        ],
        ['bob', 'create service web', make(at('services'), service('web'))],
        ['carol', 'create statefulset db x3', make(at('statefulsets'), set(3))],
      )
      await running(7)
      await step('alice', 'image i:2', edit(web, withImage('i:2')), 2_500)
      await restarted()
      await step('bob', 'image d:2', edit(at('statefulsets', 'db'), withImage('d:2')), 3_500)
      await restarted()
      await step(
        'carol',
        'create job work of 4, 2 at once',
        make(at('jobs'), job('work', { completions: 4, parallelism: 2 })),
        1_000,
      )
      await restarted()
      await step('alice', 'let one succeed', ends(scene, 'work', 'Succeeded'), 300)
      await restarted()
      await step('bob', 'scale db to 1', change(at('statefulsets', 'db', 'scale'), withReplicas(1)), 1_000)
      await restarted()
      await step('carol', 'image i:3', edit(web, withImage('i:3')), 1_000)
      await without('kube-scheduler', () => pause(UNDER_WAY_MS))
      await quiet(LONG_MS)
      await step('alice', 'delete the job', remove(at('jobs', 'work'), 'Foreground'), 500)
      await restarted()
      await step('bob', 'delete deployment web', remove(web), 500)
      await restarted()
    },
  },
  {
    name: 'tq-flipped',
    play: async (scene) => {
      const { at, aPod } = scene
      const budget = {
        metadata: { name: 'web' },
        spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } },
      }
      const headless = {
        metadata: { name: 'all' },
        spec: {
          clusterIP: 'None',
          publishNotReadyAddresses: true,
          selector: { app: 'web' },
          ports: [{ port: 80 }],
        },
      }
      const spec = { readinessGates: [{ conditionType: 'example.com/open' }] }
      const flip = (status: 'True' | 'False') => async (api: KubeApi) =>
        api.patch(`${at('pods', await aPod(isOf('web')))}/status`, ready(status), 'strategic-merge-patch')
      const open = { status: { conditions: [{ type: 'example.com/open', status: 'True' }] } }
      await inTurn(
        scene,
        [
          'alice',
          'create deployment web x3',
          make(at('deployments'), deployment('web', { replicas: 3 })),
          LONG_MS,
        ],
        ['bob', 'create service web', make(at('services'), service('web'))],
        ['carol', 'create a headless service of all', make(at('services'), headless)],
        ['alice', 'create a budget', make(at('poddisruptionbudgets'), budget)],
        ['bob', 'let a pod be unready', flip('False')],
        ['carol', 'let it be ready', flip('True')],
        ['alice', 'let it be unready again', flip('False')],
        ['bob', 'lower the budget', change(at('poddisruptionbudgets', 'web'), { spec: { minAvailable: 1 } })],
        ['carol', 'scale to 2', change(at('deployments', 'web', 'scale'), withReplicas(2)), LONG_MS],
        ['alice', 'add a gate', change(at('deployments', 'web'), { spec: { template: { spec } } }), LONG_MS],
        [
          'bob',
          'open the gate of a pod',
          async (api) =>
            api.patch(`${at('pods', await aPod(isOf('web')))}/status`, open, 'strategic-merge-patch'),
        ],
        [
          'carol',
          'select other pods',
          change(at('services', 'web'), { spec: { selector: { app: 'none' } } }),
        ],
        [
          'alice',
          'publish ready ones only',
          change(at('services', 'all'), { spec: { publishNotReadyAddresses: null } }),
        ],
        ['bob', 'delete the headless service', remove(at('services', 'all'))],
        ['carol', 'delete deployment web', remove(at('deployments', 'web'))],
      )
    },
  },
  {
    name: 'ts-numbered',
    play: async (scene) => {
      const { at } = scene
      const db = at('statefulsets', 'db')
      const cpu = (of: string): object => ({
        spec: { template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: of } } }] } } },
      })
      const renews = (updateStrategy: object) => change(db, { spec: { updateStrategy } })
      await inTurn(
        scene,
        ['alice', 'create statefulset db x3', make(at('statefulsets'), set(3)), LONG_MS],
        ['bob', 'ask for too much', edit(db, cpu('900')), LONG_MS],
        ['carol', 'ask for less', edit(db, cpu('200m')), LONG_MS],
        ['alice', 'delete db-2, which waits', remove(at('pods', 'db-2')), 20_000],
        ['bob', 'count from 1', change(db, { spec: { ordinals: { start: 1 } } }), 20_000],
        ['carol', 'renew the last only', renews({ rollingUpdate: { partition: 2 } })],
        ['alice', 'image d:2', edit(db, withImage('d:2')), 15_000],
        ['bob', 'delete db-3, which is renewed', remove(at('pods', 'db-3')), 15_000],
        ['carol', 'renew on delete only', renews({ type: 'OnDelete', rollingUpdate: null })],
        ['bob', 'delete db-2', remove(at('pods', 'db-2')), LONG_MS],
        [
          'alice',
          'renew by itself again',
          renews({ type: 'RollingUpdate', rollingUpdate: { partition: 0 } }),
          20_000,
        ],
        ['bob', 'wait 3 s for each', change(db, { spec: { minReadySeconds: 3 } }), LONG_MS],
        ['carol', 'image d:3', edit(db, withImage('d:3')), 20_000],
        ['alice', 'scale to 1', change(`${db}/scale`, withReplicas(1)), LONG_MS],
        ['bob', 'delete it, and orphan its own', remove(db, 'Orphan'), LONG_MS],
        [
          'carol',
          'create it again x2',
          make(at('statefulsets'), set(2, { podManagementPolicy: 'Parallel' })),
          15_000,
        ],
        ['alice', 'delete it', remove(db, 'Foreground'), LONG_MS],
      )
    },
  },
  {
    name: 'tt-remade',
    play: async (scene) => {
      const { name, at, list } = scene
      const again =
        (path: string, called: string, object: object) =>
        async (api: KubeApi): Promise<unknown> => {
          await api.delete(`${path}/${called}`, { propagationPolicy: 'Background', gracePeriodSeconds: 0 })
          return api.create(path, object)
        }
      const settings = (a: string): object => ({
        metadata: { name: 'settings' },
        data: { a },
        immutable: true,
      })
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${name}/endpointslices`
      const quota = { metadata: { name: 'q' }, spec: { hard: { configmaps: '20', services: '5' } } }
      await inTurn(
        scene,
        [
          'alice',
          'create deployment web x2',
          make(at('deployments'), deployment('web', { replicas: 2 })),
          LONG_MS,
        ],
        ['bob', 'create service web', make(at('services'), service('web'))],
        ['carol', 'create a quota', make(at('resourcequotas'), quota)],
        ['alice', 'create immutable settings', make(at('configmaps'), settings('1'))],
        [
          'bob',
          'delete the settings by force, and make them anew',
          again(at('configmaps'), 'settings', settings('2')),
        ],
        [
          'carol',
          'delete the service by force, and make it anew',
          again(at('services'), 'web', service('web')),
          LONG_MS,
        ],
        [
          'alice',
          'delete the deployment by force, and make it anew',
          again(at('deployments'), 'web', deployment('web', { replicas: 1 })),
          LONG_MS,
        ],
        ['bob', 'delete all slices', (api) => api.delete(slices), LONG_MS],
        ['carol', 'delete the quota by force, and make it anew', again(at('resourcequotas'), 'q', quota)],
        [
          'alice',
          'edit the endpoints of web',
          async (api) => api.patch(at('endpoints', 'web'), { subsets: [] }),
          LONG_MS,
        ],
        ['bob', 'delete the endpoints of web', remove(at('endpoints', 'web')), LONG_MS],
        ['carol', 'delete the default account', remove(at('serviceaccounts', 'default'))],
        [
          'alice',
          'label a replica set',
          async (api) =>
            api.patch(
              at('replicasets', (await list('replicasets'))[0]!.metadata.name),
              withLabels({ a: 'b' }),
            ),
        ],
        [
          'bob',
          'say that the set wants 3',
          async (api) =>
            api.patch(at('replicasets', (await list('replicasets'))[0]!.metadata.name), {
              metadata: { annotations: { 'deployment.kubernetes.io/desired-replicas': '3' } },
            }),
          LONG_MS,
        ],
        ['carol', 'delete service web', remove(at('services', 'web'))],
        ['alice', 'delete deployment web', remove(at('deployments', 'web'))],
      )
    },
  },
]
