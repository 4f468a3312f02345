import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { SILENT } from '../../harness/kubernetes/kwok-stages.ts'
import { change, edit, inTurn, make, remove } from './deeds.ts'
import { deployment, node, podSpec, podsOf, withImage, withLabels, withReplicas } from './manifests.ts'
import { drain, each } from './stories-with-nodes.ts'
import type { Scene, Story } from './story.ts'

const LONG_MS = 13_000
const UNDER_WAY_MS = 2_000
/** Pods of a node that is not there any more are collected within a minute and a half. */
const COLLECTED_MS = 60_000

const nodes =
  ({ at }: Scene, names: readonly string[], labels: Record<string, string>, room: object = {}) =>
  (api: KubeApi) =>
    each(names, (one) => api.create(at('nodes'), node(one, labels, room)))

const noNodes =
  ({ at }: Scene, ...names: string[]) =>
  (api: KubeApi) =>
    each(names, (one) => api.delete(at('nodes', one)))

const taint = (key: string, effect: string): object => ({ spec: { taints: [{ key, value: 'y', effect }] } })
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'
const UNTAINTED = { spec: { taints: null } }

/** A strategic patch of a node's status. */
const condition = (type: string, status: 'True' | 'False'): object => ({
  status: { conditions: [{ type, status, reason: 'ByHand', message: 'by hand' }] },
})

/** Stories of where Pods find room: nodes that change while Pods come and go, and room that comes without a Pod that goes. */
export const STORIES_OF_ROOMS: readonly Story[] = [
  {
    name: 'ta-pushed',
    hasNodes: true,
    play: async (scene) => {
      const { name, at } = scene
      const pool = { pool: 'ta' }
      const there = at('deployments').replace(name, 'ta-other')
      const of = { cpu: '400m', nodeSelector: pool }
      const high = deployment('high', { ...of, replicas: 1, priorityClassName: 'ta-high' })
      await inTurn(
        scene,
        ['alice', 'add node ta-a with a cpu', nodes(scene, ['ta-a'], pool, { cpu: '1' })],
        [
          'alice',
          'create priority class ta-high',
          make(at('priorityclasses'), { metadata: { name: 'ta-high' }, value: 1_000 }),
        ],
        ['bob', 'create namespace ta-other', make('/api/v1/namespaces', { metadata: { name: 'ta-other' } })],
        [
          'bob',
          'create deployment low x2 there',
          make(there, deployment('low', { ...of, replicas: 2 })),
          LONG_MS,
        ],
        [
          'carol',
          'create deployment high x1, which pushes one aside',
          make(at('deployments'), high),
          LONG_MS,
        ],
        ['alice', 'add node ta-b', nodes(scene, ['ta-b'], pool, { cpu: '1' }), LONG_MS],
        ['bob', 'scale low to 3 there', change(`${there}/low/scale`, withReplicas(3)), LONG_MS],
        ['carol', 'scale high to 3', change(at('deployments', 'high', 'scale'), withReplicas(3)), LONG_MS],
        ['alice', 'scale high to 1', change(at('deployments', 'high', 'scale'), withReplicas(1)), LONG_MS],
        ['bob', 'delete deployment low there', remove(`${there}/low`), LONG_MS],
        ['carol', 'delete deployment high', remove(at('deployments', 'high')), LONG_MS],
        ['alice', 'delete both nodes', noNodes(scene, 'ta-a', 'ta-b')],
        ['bob', 'delete the class', remove(at('priorityclasses', 'ta-high'))],
        ['carol', 'delete namespace ta-other', remove('/api/v1/namespaces/ta-other'), LONG_MS],
      )
    },
  },
  {
    name: 'tb-roomy',
    hasNodes: true,
    play: async (scene) => {
      const { at, aPod } = scene
      const pool = { pool: 'tb' }
      const pod = (name: string, cpu: string, more: object = {}, labels: object = {}): object => ({
        metadata: { name, labels },
        spec: { ...podSpec('i:1', { cpu, nodeSelector: pool }), ...more },
      })
      const job = {
        metadata: { name: 'work' },
        spec: {
          template: {
            spec: { ...podSpec('j:1', { cpu: '800m', nodeSelector: pool }), restartPolicy: 'Never' },
          },
        },
      }
      const away = {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                labelSelector: { matchLabels: { noise: 'y' } },
                topologyKey: 'kubernetes.io/hostname',
              },
            ],
          },
        },
      }
      const waiting = deployment('waiting', { replicas: 1, cpu: '500m', nodeSelector: pool })
      const done = { status: { phase: 'Succeeded' } }
      const more = { status: { allocatable: { cpu: '4' }, capacity: { cpu: '4' } } }
      await inTurn(
        scene,
        ['alice', 'add node tb-a with a cpu', nodes(scene, ['tb-a'], pool, { cpu: '1' })],
        ['bob', 'create job work', make(at('jobs'), job)],
        ['carol', 'create deployment waiting, pending', make(at('deployments'), waiting)],
        [
          'alice',
          'let the job succeed',
          async (api) => api.patch(`${at('pods', await aPod(isOf('work')))}/status`, done),
          LONG_MS,
        ],
        ['bob', 'create pod big, pending', make(at('pods'), pod('big', '800m'))],
        [
          'carol',
          'scale waiting to 0',
          change(at('deployments', 'waiting', 'scale'), withReplicas(0)),
          LONG_MS,
        ],
        ['alice', 'delete pod big', remove(at('pods', 'big'))],
        ['bob', 'create pod noisy', make(at('pods'), pod('noisy', '100m', {}, { noise: 'y' }))],
        ['carol', 'create pod shy, pending', make(at('pods'), pod('shy', '100m', away))],
        ['alice', 'unlabel pod noisy', change(at('pods', 'noisy'), withLabels({ noise: null })), LONG_MS],
        ['bob', 'create pod huge, pending', make(at('pods'), pod('huge', '2'))],
        ['carol', 'give node tb-a more', change(`${at('nodes', 'tb-a')}/status`, more), LONG_MS],
        [
          'alice',
          'delete the pods',
          (api) => each(['noisy', 'shy', 'huge'], (one) => api.delete(at('pods', one))),
        ],
        ['bob', 'delete deployment waiting', remove(at('deployments', 'waiting'))],
        ['carol', 'delete the job', remove(at('jobs', 'work'))],
        ['alice', 'delete node tb-a', noNodes(scene, 'tb-a')],
      )
    },
  },
  {
    name: 'tc-moved',
    hasNodes: true,
    play: async (scene) => {
      const { at } = scene
      const pool = { pool: 'tc' }
      const web = at('deployments', 'web')
      const cordoned = (unschedulable: boolean | null): object => ({ spec: { unschedulable } })
      await inTurn(
        scene,
        ['alice', 'add nodes', nodes(scene, ['tc-a', 'tc-b'], pool)],
        [
          'bob',
          'create deployment web x4',
          make(at('deployments'), deployment('web', { replicas: 4, nodeSelector: pool })),
          LONG_MS,
        ],
        ['carol', 'taint tc-a', change(at('nodes', 'tc-a'), taint('story', 'NoSchedule'))],
        ['alice', 'cordon tc-b', change(at('nodes', 'tc-b'), cordoned(true))],
        ['bob', 'image i:2, which finds no node', edit(web, withImage('i:2')), LONG_MS],
        ['carol', 'uncordon tc-b', change(at('nodes', 'tc-b'), cordoned(null)), LONG_MS],
        ['alice', 'untaint tc-a', change(at('nodes', 'tc-a'), UNTAINTED)],
        ['bob', 'image i:3', edit(web, withImage('i:3')), UNDER_WAY_MS],
        ['carol', 'drain tc-a', (api) => drain(scene, api, 'tc-a'), LONG_MS],
        ['alice', 'unlabel tc-b', change(at('nodes', 'tc-b'), withLabels({ pool: null }))],
        ['bob', 'scale to 6, which finds no node', change(`${web}/scale`, withReplicas(6)), LONG_MS],
        ['carol', 'add node tc-c', nodes(scene, ['tc-c'], pool), LONG_MS],
        ['alice', 'image i:4', edit(web, withImage('i:4')), LONG_MS],
        [
          'bob',
          'taint tc-c so that nothing stays',
          change(at('nodes', 'tc-c'), taint('go', 'NoExecute')),
          LONG_MS,
        ],
        ['carol', 'label tc-b again', change(at('nodes', 'tc-b'), withLabels(pool)), LONG_MS],
        ['alice', 'delete node tc-b', noNodes(scene, 'tc-b'), COLLECTED_MS],
        ['bob', 'untaint tc-c', change(at('nodes', 'tc-c'), UNTAINTED), LONG_MS],
        ['carol', 'delete deployment web', remove(web), LONG_MS],
        ['alice', 'delete the other nodes', noNodes(scene, 'tc-a', 'tc-c')],
      )
    },
  },
  {
    name: 'td-pressed',
    hasNodes: true,
    play: async (scene) => {
      const { at, aPod, byItself } = scene
      const pool = { pool: 'td' }
      const web = at('deployments', 'web')
      const one = `${at('nodes', 'td-a')}/status`
      const scale = (replicas: number) => change(`${web}/scale`, withReplicas(replicas))
      await inTurn(
        scene,
        ['alice', 'add node td-a', nodes(scene, ['td-a'], pool)],
        [
          'bob',
          'create deployment web x2',
          make(at('deployments'), deployment('web', { replicas: 2, nodeSelector: pool })),
          LONG_MS,
        ],
        ['carol', 'say that td-a lacks memory', edit(one, condition('MemoryPressure', 'True'))],
        ['alice', 'image i:2, which finds no node', edit(web, withImage('i:2')), LONG_MS],
        ['bob', 'say that td-a has memory again', edit(one, condition('MemoryPressure', 'False')), LONG_MS],
        ['carol', 'say that td-a has no network', edit(one, condition('NetworkUnavailable', 'True'))],
        ['alice', 'scale to 4, which finds no node', scale(4), LONG_MS],
        ['bob', 'say that td-a has one', edit(one, condition('NetworkUnavailable', 'False')), LONG_MS],
        [
          'carol',
          'let the kubelet fall silent',
          change(at('nodes', 'td-a'), withLabels({ [SILENT]: 'y' })),
          UNDER_WAY_MS,
        ],
      )
      await byItself(
        'td-a is found to be silent',
        ({ kind, metadata, status }) =>
          kind === 'Node' &&
          metadata.name === 'td-a' &&
          (status?.conditions ?? []).some(({ type, status: of }) => type === 'Ready' && of === 'Unknown'),
        LONG_MS,
      )
      await inTurn(
        scene,
        ['alice', 'delete a pod, which stays', async (api) => api.delete(at('pods', await aPod())), LONG_MS],
        [
          'bob',
          'taint td-a as out of service',
          (api) =>
            api.patch(
              at('nodes', 'td-a'),
              [{ op: 'add', path: '/spec/taints/-', value: { key: OUT_OF_SERVICE, effect: 'NoExecute' } }],
              'json-patch',
            ),
          COLLECTED_MS,
        ],
        ['carol', 'delete node td-a', noNodes(scene, 'td-a'), COLLECTED_MS],
        ['alice', 'delete deployment web', remove(web), LONG_MS],
      )
    },
  },
  {
    name: 'te-daemons',
    hasNodes: true,
    play: async (scene) => {
      const { at, aPod } = scene
      const pool = { pool: 'te' }
      const agent = at('daemonsets', 'agent')
      const spec = podsOf('agent', podSpec('a:1', { nodeSelector: pool }))
      const template = (of: object): object => ({ spec: { template: { spec: of } } })
      const strategy = (updateStrategy: object): object => ({ spec: { updateStrategy } })
      const surge = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
      const tolerations = [{ key: 'special', operator: 'Exists' }]
      await inTurn(
        scene,
        ['alice', 'add nodes', nodes(scene, ['te-a', 'te-b'], pool)],
        ['bob', 'taint te-a', change(at('nodes', 'te-a'), taint('special', 'NoSchedule'))],
        ['carol', 'create daemonset agent', make(at('daemonsets'), { metadata: { name: 'agent' }, spec })],
        ['alice', 'let it tolerate the taint', change(agent, template({ tolerations })), LONG_MS],
        ['bob', 'renew on delete only', change(agent, strategy({ type: 'OnDelete', rollingUpdate: null }))],
        ['carol', 'image a:2, which renews nothing', edit(agent, withImage('a:2'))],
        ['alice', 'delete a pod', async (api) => api.delete(at('pods', await aPod())), LONG_MS],
        ['bob', 'renew, one more at a time', change(agent, strategy(surge)), LONG_MS],
        ['carol', 'image a:3', edit(agent, withImage('a:3')), LONG_MS],
        [
          'alice',
          'taint te-b so that nothing stays',
          change(at('nodes', 'te-b'), taint('go', 'NoExecute')),
          LONG_MS,
        ],
        ['bob', 'untaint te-b', change(at('nodes', 'te-b'), UNTAINTED), LONG_MS],
        [
          'carol',
          'let a pod fail',
          async (api) => api.patch(`${at('pods', await aPod())}/status`, { status: { phase: 'Failed' } }),
          LONG_MS,
        ],
        [
          'alice',
          'run it on te-a only',
          change(agent, template({ nodeSelector: { only: 'te-a' } })),
          LONG_MS,
        ],
        ['bob', 'label te-a for it', change(at('nodes', 'te-a'), withLabels({ only: 'te-a' })), LONG_MS],
        ['carol', 'cordon te-a', change(at('nodes', 'te-a'), { spec: { unschedulable: true } })],
        ['alice', 'delete the daemonset', remove(agent, 'Foreground'), LONG_MS],
        ['bob', 'delete both nodes', noNodes(scene, 'te-a', 'te-b')],
      )
    },
  },
]

function isOf(app: string): (pod: { metadata: { name: string } }) => boolean {
  return ({ metadata }) => metadata.name.startsWith(app)
}
