import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 2))
  await stage.rolledOut('web', 2)
  await Promise.all([
    stage.kubectl('alice', 'set', 'image', 'deployment/web', 'main=nginx:2'),
    stage.kubectl('bob', 'set', 'env', 'deployment/web', 'BY=bob'),
  ])
  await stage.rolledOut('web', 2)
}

export const twoUsers: Story = {
  name: 'two-users',
  play,
  cascades: [
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
    // Who of them is first is up to chance.
    { began: 'change deployments/web' },
    { began: 'change deployments/web' },
  ],
}
