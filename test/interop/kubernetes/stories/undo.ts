import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 2))
  await stage.rolledOut('web', 2)
  await stage.kubectl('alice', 'set', 'image', 'deployment/web', 'main=nginx:2')
  await stage.rolledOut('web', 2)
  await stage.kubectl('bob', 'rollout', 'undo', 'deployment/web')
  await stage.rolledOut('web', 2)
}

export const undo: Story = {
  name: 'undo',
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
      began: 'change deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      objects: { deployments: 1, replicasets: 2, pods: 4 },
    },
    {
      began: 'change deployments/web',
      by: 'bob',
      services: ROLLOUT_SERVICES,
      objects: { deployments: 1, replicasets: 2, pods: 4 },
    },
  ],
  roots: {
    pods: [
      ['change deployments/web', 'change deployments/web', 'create deployments/web'],
      ['change deployments/web', 'create deployments/web'],
    ],
  },
}
