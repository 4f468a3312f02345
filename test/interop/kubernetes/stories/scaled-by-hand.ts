import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 2))
  await stage.rolledOut('web', 2)
  await stage.kubectl('bob', 'scale', 'deployment/web', '--replicas=4')
  await stage.rolledOut('web', 4)
  await stage.kubectl('alice', 'scale', 'deployment/web', '--replicas=1')
  await stage.rolledOut('web', 1)
}

export const scaledByHand: Story = {
  name: 'scaled',
  play,
  cascades: [
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    {
      began: 'scale deployments/web',
      by: 'bob',
      services: ROLLOUT_SERVICES,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    {
      began: 'scale deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES.filter((name) => name !== 'kube-scheduler'),
      objects: { deployments: 1, replicasets: 1, pods: 3 },
    },
  ],
}
