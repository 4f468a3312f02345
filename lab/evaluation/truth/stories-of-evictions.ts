import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { deployment, going, node, withImage, withReplicas } from './manifests.ts'
import { each, drain } from './stories-with-nodes.ts'
import type { Story } from './story.ts'

const TOLERATION_SECONDS = 6
const TOLERATED_MS = 14_000
const AT_ONCE = 0

/** Stories of Pods that leave their nodes before they are asked to; played alone. */
export const STORIES_OF_EVICTIONS: readonly Story[] = [
  {
    name: 'y1-tolerated',
    hasNodes: true,
    play: async ({ step, at, pods }) => {
      const pool = { pool: 'y1' }
      const toleration = {
        key: 'story',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: TOLERATION_SECONDS,
      }
      const web = deployment('web', { replicas: 3, nodeSelector: pool, tolerations: [toleration] })
      // Whoever tolerates a taint for a while is scheduled in spite of it.
      const closed = [
        { key: 'story', value: 'a', effect: 'NoExecute' },
        { key: 'closed', value: 'a', effect: 'NoSchedule' },
      ]
      const tainted = (taints: object[] | null): object => ({ spec: { taints } })
      await step('alice', 'add nodes', (api) =>
        each(['y1-a', 'y1-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step('bob', 'create deployment web x3', (api) => api.create(at('deployments'), web))
      const [pod] = await pods()
      const left = pod!.spec.nodeName!
      await step(
        'carol',
        `taint ${left}, and they stay for a while`,
        (api) => api.patch(at('nodes', left), tainted(closed)),
        TOLERATED_MS,
      )
      await step(
        'alice',
        'take the taint away',
        (api) => api.patch(at('nodes', left), tainted(null)),
        TOLERATED_MS,
      )
      await step('bob', 'scale to 4', (api) => api.patch(at('deployments', 'web', 'scale'), withReplicas(4)))
      await step('carol', 'delete deployment web', (api) =>
        api.delete(at('deployments', 'web'), going('Background')),
      )
      await step('alice', 'delete both nodes', (api) =>
        each(['y1-a', 'y1-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'y2-drained',
    hasNodes: true,
    play: async (scene) => {
      const { step, at } = scene
      const pool = { pool: 'y2' }
      const web = deployment('web', { replicas: 4, nodeSelector: pool })
      const budget = {
        metadata: { name: 'web' },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
      }
      await step('alice', 'add nodes', (api) =>
        each(['y2-a', 'y2-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step('bob', 'create a budget', (api) => api.create(at('poddisruptionbudgets'), budget))
      await step('alice', 'create deployment web x4', (api) => api.create(at('deployments'), web))
      const drained = step('bob', 'drain y2-a', (api) => drain(scene, api, 'y2-a'), AT_ONCE)
      await step('carol', 'scale to 6 while that', (api) =>
        api.patch(at('deployments', 'web', 'scale'), withReplicas(6)),
      )
      await drained
      await scene.quiet()
      await step('alice', 'uncordon y2-a', (api) =>
        api.patch(at('nodes', 'y2-a'), { spec: { unschedulable: null } }),
      )
      await step('carol', 'image i:2', (api) =>
        api.patch(at('deployments', 'web'), withImage('i:2'), 'strategic-merge-patch'),
      )
      await step('bob', 'raise the budget', (api) =>
        api.patch(at('poddisruptionbudgets', 'web'), { spec: { maxUnavailable: 2 } }),
      )
      await step('alice', 'delete deployment web', (api) =>
        api.delete(at('deployments', 'web'), going('Background')),
      )
      await step('bob', 'delete both nodes', (api) =>
        each(['y2-a', 'y2-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'y3-priority',
    hasNodes: true,
    play: async ({ step, at }) => {
      const pool = { pool: 'y3' }
      const cpu = '400m'
      const low = deployment('low', { replicas: 4, cpu, nodeSelector: pool })
      const high = deployment('high', { replicas: 1, cpu, nodeSelector: pool, priorityClassName: 'y3-high' })
      const scale = (name: string, replicas: number) => (api: KubeApi) =>
        api.patch(at('deployments', name, 'scale'), withReplicas(replicas))
      await step('alice', 'add nodes with a cpu each', (api) =>
        each(['y3-a', 'y3-b'], (one) => api.create(at('nodes'), node(one, pool, { cpu: '1' }))),
      )
      await step('alice', 'create priority class y3-high', (api) =>
        api.create(at('priorityclasses'), { metadata: { name: 'y3-high' }, value: 1_000 }),
      )
      await step('bob', 'create deployment low x4', (api) => api.create(at('deployments'), low))
      await step('carol', 'create deployment high x1, which pushes one aside', (api) =>
        api.create(at('deployments'), high),
      )
      await step('alice', 'scale high to 3', scale('high', 3))
      await step('bob', 'scale low to 1', scale('low', 1))
      await step('carol', 'scale high to 1', scale('high', 1))
      await step('alice', 'delete both deployments', (api) =>
        each(['low', 'high'], (one) => api.delete(at('deployments', one), going('Background'))),
      )
      await step('bob', 'delete the nodes and the class', async (api) => [
        ...(await each(['y3-a', 'y3-b'], (one) => api.delete(at('nodes', one)))),
        await api.delete(at('priorityclasses', 'y3-high')),
      ])
    },
  },
]

/** Stories for a cluster in which the descheduler runs, which evicts Pods from nodes that they were not to be scheduled to. */
export const STORIES_WITH_DESCHEDULER: readonly Story[] = [
  {
    name: 'z1-descheduled',
    hasNodes: true,
    play: async ({ step, at, pods }) => {
      const pool = { pool: 'z1' }
      const web = deployment('web', { replicas: 3, nodeSelector: pool })
      const taints = [{ key: 'story', value: 'z1', effect: 'NoSchedule' }]
      await step('alice', 'add nodes', (api) =>
        each(['z1-a', 'z1-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step('bob', 'create deployment web x3', (api) => api.create(at('deployments'), web), TOLERATED_MS)
      const [pod] = await pods()
      const left = pod!.spec.nodeName!
      await step(
        'carol',
        `taint ${left}`,
        (api) => api.patch(at('nodes', left), { spec: { taints } }),
        TOLERATED_MS,
      )
      await step(
        'alice',
        'take the taint away',
        (api) => api.patch(at('nodes', left), { spec: { taints: null } }),
        TOLERATED_MS,
      )
      await step(
        'bob',
        'scale to 5',
        (api) => api.patch(at('deployments', 'web', 'scale'), withReplicas(5)),
        TOLERATED_MS,
      )
      await step('carol', 'delete deployment web', (api) =>
        api.delete(at('deployments', 'web'), going('Background')),
      )
      await step('alice', 'delete both nodes', (api) =>
        each(['z1-a', 'z1-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
]
