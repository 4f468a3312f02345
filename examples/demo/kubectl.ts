import type { KubeObject } from './kube-objects.ts'
import { onStage, type Stage } from './stage.ts'
import { doWork, think } from './work.ts'

const REPLICAS = 2
const APP = { app: 'web' }
const NAMED_WEB = { name: 'web', namespace: 'default', labels: APP }

await onStage(async (stage) => {
  await doWork(stage, 'kubectl apply -f deployment.yaml', async (work) => {
    work.beginChange()
    await think()
    await work.create('apps/v1/deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: NAMED_WEB,
      spec: { replicas: REPLICAS, labels: APP, image: 'nginx:1.29' },
    })
  })
  await waitForBoundPods(stage)
  await doWork(stage, 'kubectl apply -f service.yaml', async (work) => {
    work.beginChange()
    await think()
    await work.create('v1/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: NAMED_WEB,
      spec: { selector: APP, port: 80 },
    })
  })
})

/** As an operator does with `kubectl rollout status`. */
async function waitForBoundPods({ client, signal }: Stage): Promise<void> {
  const bound = new Set<KubeObject['metadata']['name']>()
  for (let version = 0; bound.size < REPLICAS;) {
    const page = await client.watch('v1/pods', version, signal)
    version = page.resourceVersion
    for (const { metadata, spec } of page.items) if (spec.nodeName !== undefined) bound.add(metadata.name)
  }
}
