import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

/** An autoscaler that wants more than there are needs no figures to say so. */
async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', deployment('web', 1))
  await stage.rolledOut('web', 1)
  await stage.apply('bob', {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'web' },
    spec: {
      minReplicas: 3,
      maxReplicas: 5,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
    },
  })
  await stage.podsRun('web', 3)
  await stage.rolledOut('web', 3)
}

export const scaledByAutoscaler: Story = {
  name: 'hpa',
  play,
  cascades: [
    {
      began: 'create deployments/web',
      by: 'alice',
      services: ROLLOUT_SERVICES,
      below: ROLLOUT_BELOW,
      objects: { deployments: 1, replicasets: 1, pods: 1 },
    },
    {
      began: 'create horizontalpodautoscalers/web',
      by: 'bob',
      services: sorted('horizontal-pod-autoscaler', ...ROLLOUT_SERVICES),
      objects: { horizontalpodautoscalers: 1, deployments: 1, replicasets: 1, pods: 2 },
      below: {
        'scale deployments': ['create horizontalpodautoscalers'],
        'update replicasets': ['scale deployments'],
        'create pods': ['update replicasets'],
      },
    },
  ],
  roots: {
    pods: [['create deployments/web'], ['create deployments/web', 'create horizontalpodautoscalers/web']],
  },
}
