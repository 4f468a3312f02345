import { deployment, service } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ENDPOINT_SERVICES, ROLLOUT_BELOW, ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 2))
  await stage.rolledOut('web', 2)
  await stage.apply('alice', service('web'))
  await stage.endpointsAre('web', 2)
  await stage.kubectl('bob', 'delete', 'namespace', stage.namespace, '--wait=true', '--timeout=150s')
}

export const namespaceDeleted: Story = {
  name: 'ended',
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
      began: 'create services/web',
      by: 'alice',
      services: sorted('kubectl', ...ENDPOINT_SERVICES),
      objects: { services: 1, endpoints: 1, endpointslices: 1 },
    },
    {
      began: 'delete namespaces/ended',
      by: 'bob',
      objects: {
        ...{
          namespaces: 1,
          deployments: 1,
          replicasets: 1,
          pods: 2,
          services: 1,
          endpoints: 1,
          endpointslices: 1,
        },
        ...{ serviceaccounts: 1, configmaps: 1 },
      },
    },
  ],
}
