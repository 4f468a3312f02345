// An operator of another kind, instrumented: it applies on the server side, has a quota count what it makes, and clears up itself before
// a finalizer lets its object go.
import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer as makePlainInformer,
  PatchStrategy,
  setHeaderOptions,
  type Informer,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { traceCluster } from 'causeway-instrumentation/kubernetes'
import { WorkQueue } from './queue.ts'
import {
  deploymentOf,
  FINALIZER,
  GROUP,
  isAsAsked,
  quotaOf,
  serviceOf,
  settingsOf,
  type Tenant,
} from './tenant.ts'

const sdk = new NodeSDK({ serviceName: 'tenant-operator' })
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

const tenants = makeInformer<Tenant>(
  config,
  '/apis/example.com/v1/tenants',
  () => custom.listClusterCustomObject(GROUP) as Promise<KubernetesListObject<Tenant>>,
)
const deployments = makeInformer(config, '/apis/apps/v1/deployments', () =>
  apps.listDeploymentForAllNamespaces(),
)
const services = makeInformer(config, '/api/v1/services', () => core.listServiceForAllNamespaces())
const quotas = makeInformer(config, '/api/v1/resourcequotas', () => core.listResourceQuotaForAllNamespaces())
const settings = makeInformer(config, '/api/v1/configmaps', () => core.listConfigMapForAllNamespaces())

async function reconcile(key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  const tenant = tenants.get(name, namespace)
  if (tenant === undefined) return
  if (tenant.metadata.deletionTimestamp !== undefined) return clearUp(tenant)
  if (tenant.metadata.finalizers?.includes(FINALIZER) !== true) {
    // The version that comes of it wakes the reconcile again.
    return replace(tenant, [...(tenant.metadata.finalizers ?? []), FINALIZER])
  }
  const wanted = settingsOf(tenant)
  if (JSON.stringify(settings.get(name, namespace)?.data) !== JSON.stringify(wanted.data)) {
    await core.patchNamespacedConfigMap(
      { name, namespace, body: wanted, fieldManager: 'tenant-operator', force: true },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    )
  }
  if (quotas.get(name, namespace) === undefined) {
    await core.createNamespacedResourceQuota({ namespace, body: quotaOf(tenant) })
  }
  const deployment = deployments.get(name, namespace)
  if (deployment === undefined) {
    await apps.createNamespacedDeployment({ namespace, body: deploymentOf(tenant) })
  } else if (!isAsAsked(deployment, tenant)) {
    const body = { ...deployment, spec: deploymentOf(tenant).spec }
    await apps.replaceNamespacedDeployment({ name, namespace, body })
  }
  if (services.get(name, namespace) === undefined) {
    await core.createNamespacedService({ namespace, body: serviceOf(tenant) })
  }
  const status = {
    observedGeneration: tenant.metadata.generation,
    readyReplicas: deployment?.status?.readyReplicas ?? 0,
  }
  if (JSON.stringify(status) !== JSON.stringify(tenant.status)) {
    const body = { ...tenant, status }
    await custom.replaceNamespacedCustomObjectStatus({ ...GROUP, name, namespace, body })
  }
}

/** Deletes the settings itself; garbage collection takes the rest once the finalizer is gone. */
async function clearUp(tenant: Tenant): Promise<void> {
  const { name, namespace, finalizers = [] } = tenant.metadata
  if (settings.get(name, namespace) !== undefined) await core.deleteNamespacedConfigMap({ name, namespace })
  if (!finalizers.includes(FINALIZER)) return
  await replace(
    tenant,
    finalizers.filter((one) => one !== FINALIZER),
  )
}

async function replace(tenant: Tenant, finalizers: string[]): Promise<void> {
  const { name, namespace } = tenant.metadata
  const body = { ...tenant, metadata: { ...tenant.metadata, finalizers } }
  await custom.replaceNamespacedCustomObject({ ...GROUP, name, namespace, body })
}

const traced = cluster.reconciler('reconcile Tenant', reconcile)
const queue = new WorkQueue(traced)

function follow<T extends KubernetesObject>(informer: Informer<T>): Promise<void> {
  informer.on('change', (object) => {
    queue.add(traced.wokenBy(`${object.metadata?.namespace}/${object.metadata?.name}`, object))
  })
  informer.on('error', () => setTimeout(() => void informer.start(), 1_000))
  return informer.start()
}

await follow(tenants)
await follow(settings)
await follow(quotas)
await follow(deployments)
await follow(services)
