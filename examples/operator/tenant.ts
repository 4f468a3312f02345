import type {
  KubernetesObject,
  V1ConfigMap,
  V1Deployment,
  V1ObjectMeta,
  V1ResourceQuota,
  V1Service,
} from '@kubernetes/client-node'

export const GROUP = { group: 'example.com', version: 'v1', plural: 'tenants' }
/** Holds a Tenant until what it has is cleared up. */
export const FINALIZER = 'example.com/tenant'

/** What the custom resource says. */
export interface Tenant extends KubernetesObject {
  metadata: V1ObjectMeta & { name: string; namespace: string }
  spec: { image: string; replicas: number; pods: number }
  status?: { observedGeneration?: number; readyReplicas?: number }
}

export function settingsOf(tenant: Tenant): V1ConfigMap {
  const { image, pods } = tenant.spec
  const data = { image, pods: String(pods) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadataOf(tenant), data }
}

export function quotaOf(tenant: Tenant): V1ResourceQuota {
  return { metadata: metadataOf(tenant), spec: { hard: { pods: String(tenant.spec.pods) } } }
}

export function deploymentOf(tenant: Tenant): V1Deployment {
  const labels = { app: tenant.metadata.name }
  const containers = [{ name: 'app', image: tenant.spec.image }]
  return {
    metadata: metadataOf(tenant),
    spec: {
      replicas: tenant.spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

export function serviceOf(tenant: Tenant): V1Service {
  return {
    metadata: metadataOf(tenant),
    spec: { selector: { app: tenant.metadata.name }, ports: [{ port: 80 }] },
  }
}

/** Whether a Deployment has what is asked for. */
export function isAsAsked({ spec: has }: V1Deployment, { spec: asked }: Tenant): boolean {
  const [container] = has?.template.spec?.containers ?? []
  return has?.replicas === asked.replicas && container?.image === asked.image
}

function metadataOf({ metadata: { name, namespace, uid = '' } }: Tenant): V1ObjectMeta {
  const owner = { apiVersion: 'example.com/v1', kind: 'Tenant', name, uid, controller: true }
  return { name, namespace, ownerReferences: [owner] }
}
