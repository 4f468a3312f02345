import { matches, ownerReferenceTo, type Endpoints, type Pod, type Service } from './kube-objects.ts'
import { onStage, type Stage } from './stage.ts'
import { keepReconciling, type View } from './view.ts'
import { doWork, think } from './work.ts'

await onStage((stage) =>
  keepReconciling(stage, ['v1/services', 'v1/endpoints', 'v1/pods'], async (view) => {
    for (const service of view.all('v1/services')) {
      const endpoints = view
        .all('v1/endpoints')
        .find(({ metadata }) => metadata.name === service.metadata.name)
      if (endpoints === undefined) await createEndpoints(stage, view, service)
      else if (reachablePods(service, view.all('v1/pods')).length > endpoints.addresses.length) {
        await addAddresses(stage, view, service, endpoints)
      }
    }
  }),
)

/** Follows from the Service alone, so the Endpoints inherit its CPID. */
function createEndpoints(stage: Stage, view: View, service: Service): Promise<void> {
  return doWork(stage, 'reconcile Service', async (work) => {
    work.observe('v1/services', service)
    await think()
    const { name, namespace } = service.metadata
    const created = await work.create('v1/endpoints', {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, namespace, ownerReferences: ownerReferenceTo(service) },
      addresses: [],
    })
    view.keep('v1/endpoints', created)
  })
}

/** Follows from the Service and from the Pods, which two changes made: here they merge. */
function addAddresses(stage: Stage, view: View, service: Service, endpoints: Endpoints): Promise<void> {
  return doWork(stage, 'reconcile Endpoints', async (work) => {
    const pods = reachablePods(service, await stage.client.list('v1/pods'))
    work.observe('v1/services', service)
    work.observe('v1/endpoints', endpoints)
    work.observe('v1/pods', ...pods)
    await think()
    const addresses = pods.map(({ metadata, status }) => ({ ip: status.podIP ?? '', pod: metadata.name }))
    view.keep('v1/endpoints', await work.update('v1/endpoints', { ...endpoints, addresses }))
  })
}

function reachablePods(service: Service, pods: Pod[]): Pod[] {
  return pods.filter((pod) => pod.status.podIP !== undefined && matches(service.spec.selector, pod))
}
