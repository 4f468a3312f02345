// The same operator, instrumented: it tells Causeway what its work comes from.
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  makeInformer as makePlainInformer,
  type Informer,
  type KubernetesObject,
} from '@kubernetes/client-node'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { traceCluster } from 'causeway-instrumentation/kubernetes'
import { WorkQueue } from './queue.ts'

const NAME = 'deployments-ready'

const sdk = new NodeSDK({ serviceName: 'summary-operator' })
sdk.start()
process.once('SIGTERM', () => void sdk.shutdown().finally(() => process.exit()))

const plainConfig = new KubeConfig()
plainConfig.loadFromDefault()
const cluster = traceCluster(plainConfig)
const config = cluster.kubeConfig
const makeInformer = cluster.informers(makePlainInformer)
const apps = config.makeApiClient(AppsV1Api)
const core = config.makeApiClient(CoreV1Api)

const deployments = makeInformer(config, '/apis/apps/v1/deployments', () =>
  apps.listDeploymentForAllNamespaces(),
)
const summaries = makeInformer(config, '/api/v1/configmaps', () => core.listConfigMapForAllNamespaces())

async function reconcile(namespace: string): Promise<void> {
  const ready = deployments.list(namespace).map(({ metadata, status }) => {
    return [metadata?.name ?? '', String(status?.readyReplicas ?? 0)] as const
  })
  const summary = summaries.get(NAME, namespace)
  const data = Object.fromEntries(ready.sort())
  if (ready.length === 0) {
    if (summary !== undefined) await core.deleteNamespacedConfigMap({ name: NAME, namespace })
  } else if (summary === undefined) {
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: NAME }, data } })
  } else if (JSON.stringify(data) !== JSON.stringify(summary.data)) {
    await core.replaceNamespacedConfigMap({ name: NAME, namespace, body: { ...summary, data } })
  }
}

const traced = cluster.reconciler('reconcile summary', reconcile)
const queue = new WorkQueue(traced)

function follow<T extends KubernetesObject>(informer: Informer<T>): Promise<void> {
  informer.on('change', (object) => {
    queue.add(traced.wokenBy(object.metadata?.namespace ?? '', object))
  })
  informer.on('error', () => setTimeout(() => void informer.start(), 1_000))
  return informer.start()
}

await follow(summaries)
await follow(deployments)
