import type { Resource } from './kube-objects.ts'

interface ResourceType {
  kind: string
  isNamespaced: boolean
}

/** What the API server serves. */
export const RESOURCE_TYPES: Readonly<Record<Resource, ResourceType>> = {
  'apps/v1/deployments': { kind: 'Deployment', isNamespaced: true },
  'apps/v1/replicasets': { kind: 'ReplicaSet', isNamespaced: true },
  'v1/pods': { kind: 'Pod', isNamespaced: true },
  'v1/nodes': { kind: 'Node', isNamespaced: false },
  'v1/services': { kind: 'Service', isNamespaced: true },
  'v1/endpoints': { kind: 'Endpoints', isNamespaced: true },
  'v1/configmaps': { kind: 'ConfigMap', isNamespaced: true },
  'autoscaling/v2/horizontalpodautoscalers': { kind: 'HorizontalPodAutoscaler', isNamespaced: true },
  'metrics.k8s.io/v1beta1/pods': { kind: 'PodMetrics', isNamespaced: true },
}

/** What an object of the resource says that it is. */
export function typeMeta(resource: Resource): { apiVersion: string; kind: string } {
  return {
    apiVersion: resource.slice(0, resource.lastIndexOf('/')),
    kind: RESOURCE_TYPES[resource].kind,
  }
}
