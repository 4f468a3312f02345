import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer as makePlainInformer,
  type Informer,
  type KubernetesListObject,
  type KubernetesObject,
  type V1ConfigMap,
} from '@kubernetes/client-node'
import { traceCluster, type TraceClusterSettings } from 'causeway-instrumentation/kubernetes'
import { NAMESPACE } from './features.ts'

/** A cluster of the kubeconfig, by the name of its context, and what is made to work with it. */
export function connect(name: string, telemetry: (cluster: string) => TraceClusterSettings) {
  const plainConfig = new KubeConfig()
  plainConfig.loadFromDefault()
  plainConfig.setCurrentContext(name)
  const cluster = traceCluster(plainConfig, telemetry(name))
  const config = cluster.kubeConfig
  const makeInformer = cluster.informers(makePlainInformer)
  const core = config.makeApiClient(CoreV1Api)
  const custom = config.makeApiClient(CustomObjectsApi)
  return {
    name,
    core,
    custom,
    reconciler: cluster.reconciler,
    /** An informer of a custom resource that is in no namespace. */
    customObjects: <T extends KubernetesObject>(of: { group: string; version: string; plural: string }) =>
      makeInformer<T>(
        config,
        `/apis/${of.group}/${of.version}/${of.plural}`,
        () => custom.listClusterCustomObject(of) as Promise<KubernetesListObject<T>>,
      ),
    /** An informer of the ConfigMaps with a label. */
    configMaps: (labelSelector: string) =>
      makeInformer<V1ConfigMap>(
        config,
        `/api/v1/namespaces/${NAMESPACE}/configmaps`,
        () => core.listNamespacedConfigMap({ namespace: NAMESPACE, labelSelector }),
        labelSelector,
      ),
    /** A ConfigMap as it is now, newer than a cache may be; undefined where there is none. */
    configMap: (name: string): Promise<V1ConfigMap | undefined> =>
      core.readNamespacedConfigMap({ name, namespace: NAMESPACE }).catch((error: { code?: number }) => {
        if (error.code === 404) return undefined
        throw error
      }),
    /** Writes a ConfigMap that was read, or makes it; refused where somebody else wrote it meanwhile. */
    writeConfigMap: (body: V1ConfigMap): Promise<V1ConfigMap> =>
      body.metadata?.resourceVersion === undefined
        ? core.createNamespacedConfigMap({ namespace: NAMESPACE, body })
        : core.replaceNamespacedConfigMap({ name: body.metadata.name ?? '', namespace: NAMESPACE, body }),
  }
}

export type Cluster = ReturnType<typeof connect>

/** Tells of every object, again when the connection was lost. */
export function follow<T extends KubernetesObject>(
  informer: Informer<T>,
  tell: (object: T) => void,
): Promise<void> {
  informer.on('change', tell)
  informer.on('error', () => setTimeout(() => void informer.start(), 1_000))
  return informer.start()
}
