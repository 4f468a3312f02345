import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, inTurn, make, remove, type Turn } from './deeds.ts'
import { withLabels, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'acid.zalan.do/v1'
/** The operator looks again every 20 s at what somebody changed beside it. */
const LOOKS_AGAIN_MS = 32_000
const LONG_MS = 14_000
const UNDER_WAY_MS = 1_500
const AT_ONCE = 0

const databases = ({ name }: Scene, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/postgresqls`, ...path].join('/')

const database = ({ name }: Scene, called: string, numberOfInstances: number, more: object = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'postgresql',
  metadata: { name: called, labels: { team: 'acid' } },
  spec: {
    ...{ teamId: 'acid', numberOfInstances, postgresql: { version: '18' } },
    volume: { size: '1Gi', storageClass: name },
    ...{ users: { app: ['createdb'] }, databases: { app: 'app' }, ...more },
  },
})

/** What its Pods can have claims on. */
const volumes =
  ({ name, at }: Scene, count: number) =>
  (api: KubeApi): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, (_, number) =>
        api.create(at('persistentvolumes'), {
          metadata: { name: `${name}-${number}` },
          spec: {
            ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: name },
            hostPath: { path: '/x' },
          },
        }),
      ),
    )

const asks = (cpu: string): object => ({
  spec: { resources: { requests: { cpu, memory: '100Mi' }, limits: { cpu: '1', memory: '500Mi' } } },
})
const secretOf = (user: string, name: string): string =>
  `${user}.${name}.credentials.postgresql.acid.zalan.do`

/** Stories for a cluster in which the operator of databases runs, and somebody plays Patroni. */
export const STORIES_WITH_DATABASES: readonly Story[] = [
  {
    name: 'wa-clustered',
    play: async (scene) => {
      const { at } = scene
      const main = databases(scene, 'main')
      const turns: Turn[] = [
        ['alice', 'create volumes', volumes(scene, 4), 4_000],
        ['alice', 'create database main of 2', make(databases(scene), database(scene, 'main', 2)), LONG_MS],
        ['bob', 'make it 3', change(main, { spec: { numberOfInstances: 3 } }), LONG_MS],
        ['carol', 'delete a pod by hand', remove(at('pods', 'main-1')), LONG_MS],
        ['alice', 'let it have more cpu', change(main, asks('200m')), 40_000],
        ['bob', 'delete its replica service by hand', remove(at('services', 'main-repl')), LOOKS_AGAIN_MS],
        ['carol', 'add user web', change(main, { spec: { users: { web: [] } } }), LONG_MS],
        ['alice', 'delete a secret by hand', remove(at('secrets', secretOf('web', 'main'))), LOOKS_AGAIN_MS],
        [
          'bob',
          'scale its pods by hand',
          change(at('statefulsets', 'main'), withReplicas(1)),
          LOOKS_AGAIN_MS,
        ],
        ['carol', 'make it 1', change(main, { spec: { numberOfInstances: 1 } }), LONG_MS],
        ['alice', 'delete database main', remove(main), LONG_MS],
      ]
      await inTurn(scene, ...turns)
    },
  },
  {
    name: 'wb-pooled',
    play: async (scene) => {
      const { at } = scene
      const shop = databases(scene, 'shop')
      await inTurn(
        scene,
        ['alice', 'create volumes', volumes(scene, 3), 4_000],
        ['alice', 'create database shop of 2', make(databases(scene), database(scene, 'shop', 2)), LONG_MS],
        ['bob', 'add user late', change(shop, { spec: { users: { late: [] } } }), 20_000],
        ['carol', 'pool its connections', change(shop, { spec: { enableConnectionPooler: true } }), LONG_MS],
        [
          'alice',
          'pool with 3',
          change(shop, { spec: { connectionPooler: { numberOfInstances: 3 } } }),
          LONG_MS,
        ],
        ['bob', 'delete its pooler by hand', remove(at('deployments', 'shop-pooler')), LOOKS_AGAIN_MS],
        ['carol', 'back it up', change(shop, { spec: { enableLogicalBackup: true } }), LONG_MS],
        [
          'alice',
          'back it up at noon',
          change(shop, { spec: { logicalBackupSchedule: '00 12 * * *' } }),
          LONG_MS,
        ],
        ['bob', 'label it', change(shop, withLabels({ tier: 'gold' })), LONG_MS],
        ['carol', 'make it 1', change(shop, { spec: { numberOfInstances: 1 } }), AT_ONCE],
        ['alice', 'no backup at once', change(shop, { spec: { enableLogicalBackup: false } }), 20_000],
        ['bob', 'no pooler', change(shop, { spec: { enableConnectionPooler: false } }), LONG_MS],
        ['carol', 'delete its statefulset by hand', remove(at('statefulsets', 'shop')), 45_000],
        ['alice', 'delete database shop', remove(shop), LONG_MS],
      )
    },
  },
  {
    name: 'wc-beside',
    play: async (scene) => {
      const { at } = scene
      const [red, blue] = ['red', 'blue'].map((name) => databases(scene, name)) as [string, string]
      await inTurn(
        scene,
        ['alice', 'create volumes', volumes(scene, 5), 4_000],
        ['alice', 'create database red', make(databases(scene), database(scene, 'red', 1)), LONG_MS],
        ['bob', 'create database blue', make(databases(scene), database(scene, 'blue', 2)), 20_000],
        [
          'carol',
          'tolerate on red',
          change(red, { spec: { tolerations: [{ key: 'db', operator: 'Exists' }] } }),
          40_000,
        ],
        ['alice', 'annotate pods of blue', change(blue, { spec: { podAnnotations: { a: 'b' } } }), 25_000],
        [
          'bob',
          'annotate services of blue',
          change(blue, { spec: { serviceAnnotations: { a: 'b' } } }),
          LONG_MS,
        ],
        [
          'carol',
          'change a service by hand',
          change(at('services', 'blue'), { metadata: { annotations: { mine: 'y' } } }),
          LOOKS_AGAIN_MS,
        ],
        [
          'alice',
          'delete a budget by hand',
          remove(at('poddisruptionbudgets', 'postgres-blue-pdb')),
          LOOKS_AGAIN_MS,
        ],
        ['bob', 'make red 2', change(red, { spec: { numberOfInstances: 2 } }), LONG_MS],
        ['carol', 'expose red', change(red, { spec: { enableMasterLoadBalancer: true } }), LONG_MS],
        ['alice', 'delete database red', remove(red), UNDER_WAY_MS],
        ['bob', 'delete database blue', remove(blue), LONG_MS],
      )
    },
  },
]
