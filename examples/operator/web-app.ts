import type { KubernetesObject, V1Deployment, V1ObjectMeta, V1Service } from '@kubernetes/client-node'

export const GROUP = { group: 'example.com', version: 'v1', plural: 'webapps' }

/** What the custom resource says. */
export interface WebApp extends KubernetesObject {
  metadata: V1ObjectMeta & { name: string; namespace: string }
  spec: { image: string; replicas: number; port: number }
  status?: { observedGeneration?: number; readyReplicas?: number }
}

export function deploymentOf(app: WebApp): V1Deployment {
  const labels = { app: app.metadata.name }
  const container = { name: 'web', image: app.spec.image, ports: [{ containerPort: app.spec.port }] }
  return {
    metadata: metadataOf(app),
    spec: {
      replicas: app.spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  }
}

export function serviceOf(app: WebApp): V1Service {
  return {
    metadata: metadataOf(app),
    spec: { selector: { app: app.metadata.name }, ports: [{ port: app.spec.port }] },
  }
}

/** Whether a Deployment has what is asked for. */
export function isAsAsked({ spec: has }: V1Deployment, { spec: asked }: WebApp): boolean {
  const [container] = has?.template.spec?.containers ?? []
  return has?.replicas === asked.replicas && container?.image === asked.image
}

function metadataOf({ metadata: { name, namespace, uid = '' } }: WebApp): V1ObjectMeta {
  const owner = { apiVersion: 'example.com/v1', kind: 'WebApp', name, uid, controller: true }
  return { name, namespace, labels: { app: name }, ownerReferences: [owner] }
}
