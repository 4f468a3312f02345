import { STAYS } from '../../../../lab/harness/kubernetes/kwok-stages.ts'
import { deployment, template } from '../support/manifests.ts'
import { onNodes, type Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

const [DEAD, OTHER] = ['node-dead-1', 'node-dead-2'] as const

/** A node whose kubelet falls silent: it is found unreachable, its Pods are evicted, and go once somebody says it will not be back. */
async function play(stage: Stage): Promise<void> {
  await stage.node(DEAD)
  const soon = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 1 }
  const { tolerations, ...rest } = onNodes(DEAD, OTHER) as { tolerations: object[] }
  const spec = { ...rest, tolerations: [...tolerations, { ...soon, effect: 'NoExecute' }] }
  const pods = template('web', spec, { [STAYS]: 'yes' })
  await stage.apply('alice', deployment('web', 2, {}, pods))
  await stage.rolledOut('web', 2)
  await stage.node(OTHER)
  // kwok renews no lease that somebody else holds, and leaves the node and its Pods to them.
  await stage.api.patch(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${DEAD}`, {
    spec: {
      holderIdentity: 'nobody',
      leaseDurationSeconds: 3_600,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    },
  })
  await stage.until(async () => {
    const pods = await stage.pods('web')
    return pods.filter(({ spec }) => spec.nodeName === OTHER).length === 2
  }, 'Pods run in the place of those')
  await stage.kubectl(
    ...(['bob', 'taint', 'nodes', DEAD] as const),
    'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute',
  )
  await stage.rolledOut('web', 2)
}

export const nodeDead: Story = {
  name: 'node-dead',
  play,
  cascades: [
    { began: 'create nodes/node-dead-1', by: 'admin', objects: { nodes: 1 } },
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    { began: 'create nodes/node-dead-2', by: 'admin', objects: { nodes: 1 } },
    // Nobody writes that a kubelet fell silent.
    {
      began: 'by itself: change nodes/node-dead-1',
      objects: { nodes: 1, deployments: 1, replicasets: 1, pods: 4 },
      below: { 'bind pods': ['create pods'] },
    },
    { began: 'change nodes/node-dead-1', by: 'bob' },
  ],
  needsWho:
    'several change a Node in its first second, and managedFields keep only whom of them they can tell apart',
}
