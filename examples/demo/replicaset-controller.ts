import { owns, ownerReferenceTo, type ReplicaSet } from './kube-objects.ts'
import { shortName } from './short-name.ts'
import { onStage, type Stage } from './stage.ts'
import { keepReconciling, type View } from './view.ts'
import { doWork, think } from './work.ts'

await onStage((stage) =>
  keepReconciling(stage, ['apps/v1/replicasets', 'v1/pods'], async (view) => {
    for (const replicaSet of view.all('apps/v1/replicasets')) {
      const owned = view.all('v1/pods').filter((pod) => owns(replicaSet, pod))
      const missing = replicaSet.spec.replicas - owned.length
      if (missing > 0) await createPods(stage, view, replicaSet, missing)
    }
  }),
)

function createPods(stage: Stage, view: View, replicaSet: ReplicaSet, missing: number): Promise<void> {
  return doWork(stage, 'reconcile ReplicaSet', async (work) => {
    work.observe('apps/v1/replicasets', replicaSet)
    await stage.client.list('v1/pods')
    const { name, namespace } = replicaSet.metadata
    for (let made = 0; made < missing; made += 1) {
      await think()
      const created = await work.create('v1/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: shortName(name),
          namespace,
          labels: replicaSet.spec.labels,
          ownerReferences: ownerReferenceTo(replicaSet),
        },
        spec: { image: replicaSet.spec.image },
        status: {},
      })
      view.keep('v1/pods', created)
    }
  })
}
