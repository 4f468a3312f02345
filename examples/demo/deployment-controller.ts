import { owns, ownerReferenceTo, type Deployment } from './kube-objects.ts'
import { shortName } from './short-name.ts'
import { onStage, type Stage } from './stage.ts'
import { keepReconciling, type View } from './view.ts'
import { doWork, think } from './work.ts'

await onStage((stage) =>
  keepReconciling(stage, ['apps/v1/deployments', 'apps/v1/replicasets'], async (view) => {
    const replicaSets = view.all('apps/v1/replicasets')
    for (const deployment of view.all('apps/v1/deployments')) {
      if (!replicaSets.some((replicaSet) => owns(deployment, replicaSet))) {
        await createReplicaSet(stage, view, deployment)
      }
    }
  }),
)

function createReplicaSet(stage: Stage, view: View, deployment: Deployment): Promise<void> {
  return doWork(stage, 'reconcile Deployment', async (work) => {
    work.observe('apps/v1/deployments', deployment)
    await stage.client.list('apps/v1/replicasets')
    await think()
    const { name, namespace } = deployment.metadata
    const created = await work.create('apps/v1/replicasets', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: shortName(name),
        namespace,
        labels: deployment.spec.labels,
        ownerReferences: ownerReferenceTo(deployment),
      },
      spec: deployment.spec,
    })
    view.keep('apps/v1/replicasets', created)
  })
}
