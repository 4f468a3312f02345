import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, type Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 2))
  await stage.rolledOut('web', 2)
  const [pod] = await stage.pods('web')
  await stage.kubectl('bob', 'delete', 'pod', pod?.metadata.name ?? '', '--wait=false')
  await stage.until(
    async () => !(await stage.pods('web')).some(({ metadata }) => metadata.name === pod?.metadata.name),
    'the Pod is gone',
  )
  await stage.rolledOut('web', 2)
}

export const podDeleted: Story = {
  name: 'pod-deleted',
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
      began: 'delete pods/web-…',
      by: 'bob',
      services: ROLLOUT_SERVICES,
      objects: { deployments: 1, replicasets: 1, pods: 2 },
    },
  ],
  roots: {
    pods: [
      ['create deployments/web'],
      ['create deployments/web', 'delete pods/web-…'],
      ['delete pods/web-…'],
    ],
  },
}
