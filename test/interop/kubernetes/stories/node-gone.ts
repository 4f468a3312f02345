import { deployment, template } from '../support/manifests.ts'
import { onNodes, type Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

const [BROKEN, OTHER] = ['node-gone-1', 'node-gone-2'] as const

/** Nodes that only this story's Pods may use: one that breaks, and another one. */
async function play(stage: Stage): Promise<void> {
  await stage.node(BROKEN)
  await stage.apply('alice', deployment('web', 2, {}, template('web', onNodes(BROKEN, OTHER))))
  await stage.rolledOut('web', 2)
  await stage.node(OTHER)
  await stage.kubectl('bob', 'taint', 'nodes', BROKEN, 'broken=yes:NoExecute')
  await stage.until(async () => {
    const pods = await stage.pods('web')
    return pods.length === 2 && pods.every(({ spec }) => spec.nodeName === OTHER)
  }, 'its Pods are elsewhere')
  await stage.rolledOut('web', 2)
}

export const nodeGone: Story = {
  name: 'node-gone',
  play,
  cascades: [
    { began: 'create nodes/node-gone-1', by: 'admin', objects: { nodes: 1 } },
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    { began: 'create nodes/node-gone-2', by: 'admin', objects: { nodes: 1 } },
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
