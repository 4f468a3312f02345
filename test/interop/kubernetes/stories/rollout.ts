import { deployment, service } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import {
  EitherOf,
  ENDPOINT_SERVICES,
  ROLLOUT_BELOW,
  ROLLOUT_SERVICES,
  sorted,
  type Story,
} from '../support/story.ts'

const NOTE = 'example.com/note'

interface Annotated {
  metadata: { annotations: Record<string, string> }
}

async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 3))
  await stage.rolledOut('web', 3)
  await stage.apply('alice', service('web'))
  await stage.endpointsAre('web', 3)
  await stage.kubectl('alice', 'scale', 'deployment/web', '--replicas=5')
  await stage.rolledOut('web', 5)
  await stage.endpointsAre('web', 5)
  await stage.kubectl('alice', 'set', 'image', 'deployment/web', 'main=nginx:2')
  await stage.rolledOut('web', 5)
  await stage.endpointsAre('web', 5)
  await stage.kubectl('bob', 'annotate', 'deployment/web', `${NOTE}=seen`)
  await stage.until(async () => {
    const { items } = await stage.api.get<{ items: Annotated[] }>(stage.path('/apis/apps/v1', 'replicasets'))
    return items.some(({ metadata }) => metadata.annotations[NOTE] === 'seen')
  }, 'the note is copied')
  await stage.kubectl('alice', 'delete', 'deployment/web')
  await stage.podsRun('web', 0)
  await stage.endpointsAre('web', 0)
  await stage.kubectl('alice', 'delete', 'service/web')
  await stage.until(async () => {
    const { items } = await stage.api.get<{ items: object[] }>(
      stage.path('/apis/discovery.k8s.io/v1', 'endpointslices'),
    )
    return items.length === 0
  }, 'its EndpointSlices are gone')
}

/** Their controller is told that the API server deleted them, and makes them again, if it has not seen yet that the Service is gone too. */
const ONCE_OR_AGAIN = new EitherOf(1, 2)
const EVERYBODY = sorted(...ROLLOUT_SERVICES, ...ENDPOINT_SERVICES)

export const rollout: Story = {
  name: 'rollout',
  play,
  cascades: [
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 3 },
    },
    {
      began: 'create services/web',
      by: 'alice',
      services: new EitherOf(
        sorted('kubectl', ...ENDPOINT_SERVICES),
        sorted('kubectl', 'kube-apiserver', ...ENDPOINT_SERVICES),
      ),
      objects: { services: 1, endpoints: ONCE_OR_AGAIN, endpointslices: 1 },
    },
    {
      began: 'scale deployments/web',
      by: 'alice',
      services: EVERYBODY,
      objects: { deployments: 1, replicasets: 1, pods: 2, endpoints: 1, endpointslices: 1 },
    },
    {
      began: 'change deployments/web',
      by: 'alice',
      services: EVERYBODY,
      objects: { deployments: 1, replicasets: 2, pods: 10, endpoints: 1, endpointslices: 1 },
    },
    {
      began: 'change deployments/web',
      by: 'bob',
      services: ['deployment-controller', 'kubectl'],
      objects: { deployments: 1, replicasets: 1 },
    },
    {
      began: 'delete deployments/web',
      by: 'alice',
      services: sorted('generic-garbage-collector', 'kubectl', 'kubelet', ...ENDPOINT_SERVICES),
      objects: { deployments: 1, replicasets: 2, pods: 5, endpoints: 1, endpointslices: 1 },
    },
    {
      began: 'delete services/web',
      by: 'alice',
      // Both delete the Endpoints of a Service that is gone.
      services: new EitherOf(
        ['generic-garbage-collector', 'kube-apiserver', 'kubectl'],
        ['endpoint-controller', 'generic-garbage-collector', 'kubectl'],
        ['endpoint-controller', 'generic-garbage-collector', 'kube-apiserver', 'kubectl'],
      ),
      objects: { services: 1, endpoints: ONCE_OR_AGAIN, endpointslices: 1 },
    },
  ],
  roots: {
    endpointslices: [
      [
        'change deployments/web',
        'change deployments/web',
        'create deployments/web',
        'create services/web',
        'delete deployments/web',
        'delete services/web',
        'scale deployments/web',
      ],
    ],
  },
}
