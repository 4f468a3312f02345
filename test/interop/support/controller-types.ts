/** Objects as the generated models of the client have them, and parts of some as in merge patches. */
export const CONTROLLER_TYPES = `
import { AppsV1Api, KubeConfig, type V1ConfigMap, type V1Deployment, type V1DeploymentList } from '@kubernetes/client-node'
import { createInstrumentation } from 'causeway-instrumentation'
import { traceCluster } from 'causeway-instrumentation/kubernetes'

const { newRoot, merge, write, injectIntoObject, extractFromObject, observed, wrote } = createInstrumentation()
export const cluster = traceCluster(new KubeConfig(), { cluster: 'mine' })
export const apps: AppsV1Api = cluster.kubeConfig.makeApiClient(AppsV1Api)

export async function all(map: V1ConfigMap, one: V1Deployment, list: V1DeploymentList): Promise<object[]> {
  const type = { apiVersion: 'apps/v1', kind: 'Deployment' }
  const change = newRoot({ object: one, type, reason: 'a test' })
  const data: { data: { a: string } } = injectIntoObject(change, { data: { a: 'b' } })
  const spec: { spec: { replicas: number } } = injectIntoObject(change, { spec: { replicas: 2 } })
  const marked: V1Deployment = injectIntoObject(merge([change, extractFromObject(map)], { object: one, type }), one)
  observed(list.items, list)
  observed([map, one], type)
  wrote(marked, type)
  await write(map, async (given) => given, { causes: [change], type })
  cluster.reconciler('reconcile', async (key: string) => key.length).wokenBy('default/web', list.items[0], type)
  return [data, spec]
}
`
