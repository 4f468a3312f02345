import { deployment, template } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

const [BROKEN, OTHER] = ['node-gone-1', 'node-gone-2'] as const
const HOST = 'kubernetes.io/hostname'

/** Nodes that only this story's Pods may use: one that breaks, and another one. */
async function play(stage: Stage): Promise<void> {
  await node(stage, BROKEN)
  const here = { matchExpressions: [{ key: HOST, operator: 'In', values: [BROKEN, OTHER] }] }
  const spec = {
    tolerations: [{ key: 'story', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [here] } },
    },
  }
  await stage.apply('alice', deployment('web', 2, {}, template('web', spec)))
  await stage.rolledOut('web', 2)
  await node(stage, OTHER)
  await stage.kubectl('bob', 'taint', 'nodes', BROKEN, 'broken=yes:NoExecute')
  await stage.until(async () => {
    const { items } = await stage.api.get<{ items: { spec: { nodeName?: string } }[] }>(
      stage.path('/api/v1', 'pods'),
    )
    return items.length === 2 && items.every((pod) => pod.spec.nodeName === OTHER)
  }, 'its Pods are elsewhere')
  await stage.rolledOut('web', 2)
}

function node(stage: Stage, name: string): Promise<unknown> {
  const capacity = { cpu: '32', memory: '256Gi', pods: '110' }
  return stage.api.create('/api/v1/nodes', {
    metadata: { name, labels: { [HOST]: name } },
    spec: { taints: [{ key: 'story', value: 'node-gone', effect: 'NoSchedule' }] },
    status: { allocatable: capacity, capacity },
  })
}

export const nodeGone: Story = {
  name: 'node-gone',
  play,
  cascades: [
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    {
      began: 'change nodes/node-gone-1',
      by: 'bob',
      services: sorted('node-controller', ...ROLLOUT_SERVICES),
      objects: { nodes: 1, deployments: 1, replicasets: 1, pods: 4 },
    },
  ],
  roots: { pods: [['change nodes/node-gone-1', 'create deployments/web']] },
  needsWho:
    'several change a Node in its first second, and managedFields keep only whom of them they can tell apart',
}
