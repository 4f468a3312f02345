// The same operator, instrumented: it tells Causeway what its work comes from.
import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer as makePlainInformer,
  type Informer,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { traceCluster } from 'causeway-instrumentation/kubernetes'
import { WorkQueue } from './queue.ts'
import { deploymentOf, GROUP, isAsAsked, serviceOf, type WebApp } from './web-app.ts'

const sdk = new NodeSDK({ serviceName: 'web-app-operator' })
sdk.start()
process.once('SIGTERM', () => void sdk.shutdown().finally(() => process.exit()))

const plainConfig = new KubeConfig()
plainConfig.loadFromDefault()
const cluster = traceCluster(plainConfig)
const config = cluster.kubeConfig
const makeInformer = cluster.informers(makePlainInformer)
const custom = config.makeApiClient(CustomObjectsApi)
const apps = config.makeApiClient(AppsV1Api)
const core = config.makeApiClient(CoreV1Api)

const webApps = makeInformer<WebApp>(
  config,
  '/apis/example.com/v1/webapps',
  () => custom.listClusterCustomObject(GROUP) as Promise<KubernetesListObject<WebApp>>,
)
const deployments = makeInformer(config, '/apis/apps/v1/deployments', () =>
  apps.listDeploymentForAllNamespaces(),
)
const services = makeInformer(config, '/api/v1/services', () => core.listServiceForAllNamespaces())
// What goes with a namespace goes because of whoever deleted that.
const namespaces = makeInformer(config, '/api/v1/namespaces', () => core.listNamespace())

async function reconcile(key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  const app = webApps.get(name, namespace)
  if (app === undefined) return
  const deployment = deployments.get(name, namespace)
  if (deployment === undefined) {
    await apps.createNamespacedDeployment({ namespace, body: deploymentOf(app) })
  } else if (!isAsAsked(deployment, app)) {
    const body = { ...deployment, spec: deploymentOf(app).spec }
    await apps.replaceNamespacedDeployment({ name, namespace, body })
  }
  if (services.get(name, namespace) === undefined) {
    await core.createNamespacedService({ namespace, body: serviceOf(app) })
  }
  const status = {
    observedGeneration: app.metadata.generation,
    readyReplicas: deployment?.status?.readyReplicas ?? 0,
  }
  if (JSON.stringify(status) !== JSON.stringify(app.status)) {
    await custom.replaceNamespacedCustomObjectStatus({ ...GROUP, name, namespace, body: { ...app, status } })
  }
}

const traced = cluster.reconciler('reconcile WebApp', reconcile)
const queue = new WorkQueue(traced)

function follow<T extends KubernetesObject>(informer: Informer<T>): Promise<void> {
  informer.on('change', (object) => {
    queue.add(traced.wokenBy(`${object.metadata?.namespace}/${object.metadata?.name}`, object))
  })
  informer.on('error', () => setTimeout(() => void informer.start(), 1_000))
  return informer.start()
}

namespaces.on('error', () => setTimeout(() => void namespaces.start(), 1_000))
await namespaces.start()
await follow(webApps)
await follow(deployments)
await follow(services)
