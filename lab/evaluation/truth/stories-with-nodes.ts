import { setTimeout as pause } from 'node:timers/promises'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { SILENT } from '../../harness/kubernetes/kwok-stages.ts'
import { deployment, going, node, podSpec, podsOf, withLabels, withReplicas } from './manifests.ts'
import type { Scene, Story } from './story.ts'

/** Pods of a node that is not there any more are collected within a minute and a half. */
const COLLECTED_MS = 90_000
const EVICT_AGAIN_MS = 1_200
/** How long Pods stay on a node that has fallen silent. */
const TOLERATION_SECONDS = 3
const TOLERATED_MS = 8_000
const SMALL = '400m'

/** Stories that are played alone: they have nodes, which others' Pods would come to be on. */
export const STORIES_WITH_NODES: readonly Story[] = [
  {
    name: 'n1-daemon',
    hasNodes: true,
    play: async ({ name, step, at }) => {
      const pool = { pool: name }
      const spec = podsOf('agent', podSpec('a:1', { nodeSelector: pool }))
      const agent = { metadata: { name: 'agent' }, spec }
      await step('alice', 'create node n1-old', (api) => api.create(at('nodes'), node('n1-old')))
      await step('alice', 'create daemonset agent', (api) => api.create(at('daemonsets'), agent))
      await step('bob', 'add node n1-new of the pool', (api) => api.create(at('nodes'), node('n1-new', pool)))
      await step('carol', 'label node n1-old', (api) => api.patch(at('nodes', 'n1-old'), withLabels(pool)))
      await step('alice', 'unlabel node n1-old', (api) =>
        api.patch(at('nodes', 'n1-old'), withLabels({ pool: null })),
      )
      await step('carol', 'delete node n1-new', (api) => api.delete(at('nodes', 'n1-new')), COLLECTED_MS)
      await step('bob', 'delete node n1-old', (api) => api.delete(at('nodes', 'n1-old')))
    },
  },
  {
    name: 'p1-pdb',
    hasNodes: true,
    play: async (scene) => {
      const { step, at, aPod } = scene
      const labels = { p1: 'y' }
      const budget = {
        metadata: { name: 'web' },
        spec: { minAvailable: 3, selector: { matchLabels: { app: 'web' } } },
      }
      const web = deployment('web', { replicas: 4, nodeSelector: labels })
      await step('alice', 'add nodes', (api) =>
        each(['p1-a', 'p1-b'], (one) => api.create(at('nodes'), node(one, labels))),
      )
      await step('alice', 'create deployment web x4', (api) => api.create(at('deployments'), web))
      await step('alice', 'create a budget of 3', (api) => api.create(at('poddisruptionbudgets'), budget))
      await step('bob', 'drain p1-a', (api) => drain(scene, api, 'p1-a'))
      const pod = await aPod()
      await step('carol', 'delete a pod by hand', (api) => api.delete(at('pods', pod)))
      await step('alice', 'scale to 6', (api) =>
        api.patch(at('deployments', 'web', 'scale'), withReplicas(6)),
      )
      await step('bob', 'delete the drained node', (api) => api.delete(at('nodes', 'p1-a')))
      await step(
        'carol',
        'delete the node with the pods',
        (api) => api.delete(at('nodes', 'p1-b')),
        COLLECTED_MS,
      )
      // A Pod that stays pending would be tried on the nodes of others.
      await step('alice', 'delete deployment web', (api) =>
        api.delete(at('deployments', 'web'), going('Background')),
      )
    },
  },
  {
    name: 'w1-pending',
    hasNodes: true,
    play: async ({ step, at }) => {
      const [pool, room] = [{ pool: 'w1' }, { room: 'w1' }]
      const web = deployment('web', { replicas: 2, nodeSelector: pool })
      const [first, second] = ['first', 'second'].map((name) =>
        deployment(name, { replicas: 1, nodeSelector: room }),
      )
      await step('bob', 'add node w1-a', (api) => api.create(at('nodes'), node('w1-a')))
      await step('alice', 'create deployment web x2, pending', (api) => api.create(at('deployments'), web))
      await step('bob', 'label node w1-a', (api) => api.patch(at('nodes', 'w1-a'), withLabels(pool)))
      await step('carol', 'add node w1-b for one pod', (api) =>
        api.create(at('nodes'), node('w1-b', room, { pods: '1' })),
      )
      await step('alice', 'create deployment first', (api) => api.create(at('deployments'), first!))
      await step('bob', 'create deployment second, pending', (api) => api.create(at('deployments'), second!))
      await step('carol', 'delete deployment first', (api) =>
        api.delete(at('deployments', 'first'), going('Background')),
      )
      await step('alice', 'delete both other deployments', (api) =>
        each(['web', 'second'], (one) => api.delete(at('deployments', one), going('Background'))),
      )
      await step('bob', 'delete both nodes', (api) =>
        each(['w1-a', 'w1-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'e1-preempt',
    hasNodes: true,
    play: async ({ step, at }) => {
      const pool = { pool: 'e1' }
      const high = { metadata: { name: 'e1-high' }, value: 1_000 }
      const low = deployment('low', { replicas: 2, cpu: SMALL, nodeSelector: pool })
      const spec = podSpec('u:1', { cpu: SMALL, nodeSelector: pool, priorityClassName: 'e1-high' })
      await step('alice', 'add node e1-a with one cpu', (api) =>
        api.create(at('nodes'), node('e1-a', pool, { cpu: '1' })),
      )
      await step('alice', 'create deployment low x2', (api) => api.create(at('deployments'), low))
      await step('alice', 'create priority class e1-high', (api) => api.create(at('priorityclasses'), high))
      await step('bob', 'create pod urgent', (api) =>
        api.create(at('pods'), { metadata: { name: 'urgent', labels: { app: 'urgent' } }, spec }),
      )
      await step('carol', 'delete pod urgent', (api) => api.delete(at('pods', 'urgent')))
      await step('bob', 'delete deployment low', (api) =>
        api.delete(at('deployments', 'low'), going('Background')),
      )
      await step('alice', 'delete node and priority class', async (api) => [
        await api.delete(at('nodes', 'e1-a')),
        await api.delete(at('priorityclasses', 'e1-high')),
      ])
    },
  },
  {
    name: 'k1-kubelet',
    hasNodes: true,
    play: async ({ step, at, byItself, pods }) => {
      const pool = { pool: 'k1' }
      const toleration = {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: TOLERATION_SECONDS,
      }
      const web = deployment('web', { replicas: 2, nodeSelector: pool, tolerations: [toleration] })
      await step('alice', 'add nodes', (api) =>
        each(['k1-a', 'k1-b'], (one) => api.create(at('nodes'), node(one, pool))),
      )
      await step('alice', 'create deployment web x2', (api) => api.create(at('deployments'), web))
      const [pod] = await pods()
      const silent = pod!.spec.nodeName!
      await step('bob', `let the kubelet of ${silent} fall silent`, (api) =>
        api.patch(at('nodes', silent), withLabels({ [SILENT]: 'y' })),
      )
      await byItself(
        `${silent} is found to be silent`,
        ({ kind, metadata, status }) =>
          kind === 'Node' &&
          metadata.name === silent &&
          (status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
        TOLERATED_MS,
      )
      await step('bob', `let the kubelet of ${silent} speak again`, (api) =>
        api.patch(at('nodes', silent), withLabels({ [SILENT]: null })),
      )
      await step('carol', 'delete deployment web', (api) =>
        api.delete(at('deployments', 'web'), going('Background')),
      )
      await step('alice', 'delete both nodes', (api) =>
        each(['k1-a', 'k1-b'], (one) => api.delete(at('nodes', one))),
      )
    },
  },
  {
    name: 'x1-removals',
    hasNodes: true,
    play: async ({ step, at }) => {
      const pool = { pool: 'x1' }
      const [spare, web] = [at('nodes', 'x1-a'), at('deployments', 'web')]
      const metadata = { name: 'web', labels: { app: 'web', team: 'a' }, annotations: { note: 'a' } }
      const made = { ...deployment('web', { replicas: 2, nodeSelector: pool }), metadata }
      const taints = [{ key: 'story', value: 'x1', effect: 'NoSchedule' }]
      const patch = (of: string, change: object) => (api: KubeApi) => api.patch(of, change)
      await step('alice', 'add node x1-a', (api) =>
        api.create(at('nodes'), node('x1-a', { ...pool, x: 'y' })),
      )
      await step('alice', 'create deployment web x2', (api) => api.create(at('deployments'), made))
      await step('bob', 'pause the rollout', patch(web, { spec: { paused: true } }))
      await step('carol', 'resume it', patch(web, { spec: { paused: null } }))
      await step('alice', 'label web team-', patch(web, withLabels({ team: null })))
      await step('bob', 'annotate web note-', patch(web, { metadata: { annotations: { note: null } } }))
      await step('carol', 'cordon node x1-a', patch(spare, { spec: { unschedulable: true } }))
      await step('alice', 'uncordon node x1-a', patch(spare, { spec: { unschedulable: null } }))
      await step('bob', 'taint node x1-a', patch(spare, { spec: { taints } }))
      await step('carol', 'taint node x1-a story-', patch(spare, { spec: { taints: null } }))
      await step('alice', 'label node x1-a x-', patch(spare, withLabels({ x: null })))
      await step('bob', 'delete deployment web', (api) => api.delete(web, going('Background')))
      await step('carol', 'delete node x1-a', (api) => api.delete(spare))
    },
  },
]

/** One after the other. */
export async function each(
  names: readonly string[],
  deed: (name: string) => Promise<unknown>,
): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const name of names) answers.push(await deed(name))
  return answers
}

/** As kubectl does it: cordons the node, and has each of its Pods evicted as soon as the budget allows it. */
export async function drain({ at, pods }: Scene, api: KubeApi, name: string): Promise<unknown> {
  const cordoned = await api.patch(at('nodes', name), { spec: { unschedulable: true } })
  for (;;) {
    const left = await pods(({ spec }) => spec.nodeName === name)
    if (left.length === 0) return cordoned
    for (const { metadata } of left) {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: metadata.name } }
      await api.create(at('pods', metadata.name, 'eviction'), eviction).catch(unlessRefused)
    }
    await pause(EVICT_AGAIN_MS)
  }
}

function unlessRefused(error: unknown): void {
  if (!/is answered (404|429)/.test(String(error))) throw error
}
