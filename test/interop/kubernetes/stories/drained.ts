import { deployment, template } from '../support/manifests.ts'
import { onNodes, type Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

const [FIRST, OTHER] = ['drained-1', 'drained-2'] as const

/** A node that somebody drains: each Pod is asked to go by an eviction. */
async function play(stage: Stage): Promise<void> {
  await stage.node(FIRST)
  await stage.apply('alice', deployment('web', 2, {}, template('web', onNodes(FIRST, OTHER))))
  await stage.rolledOut('web', 2)
  await stage.node(OTHER)
  await stage.kubectl('bob', 'drain', FIRST, '--timeout=150s')
  await stage.until(async () => {
    const pods = await stage.pods('web')
    return pods.length === 2 && pods.every(({ spec }) => spec.nodeName === OTHER)
  }, 'its Pods are elsewhere')
  await stage.rolledOut('web', 2)
}

const EVICTION = { began: 'delete pods/web-…', by: 'bob' }

export const drained: Story = {
  name: 'drained',
  play,
  cascades: [
    { began: 'create nodes/drained-1', by: 'admin', objects: { nodes: 1 } },
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    { began: 'create nodes/drained-2', by: 'admin', objects: { nodes: 1 } },
    { began: 'change nodes/drained-1', by: 'bob', objects: { nodes: 1 } },
    EVICTION,
    EVICTION,
  ],
  roots: {
    nodes: [['change nodes/drained-1'], ['create nodes/drained-2']],
  },
  needsWho:
    'several change a Node in its first second, and managedFields keep only whom of them they can tell apart',
}
