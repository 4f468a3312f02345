export interface Metadata {
  name: string
  namespace: string
  uid: string
  resourceVersion: string
  generation: number
  creationTimestamp: string
  deletionTimestamp?: string
  labels?: Labels
  annotations?: Labels
  ownerReferences?: OwnerReference[]
}

export type Labels = Readonly<Record<string, string>>

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  spec?: object
  status?: object
}

export interface PodTemplate {
  metadata: { labels: Labels }
  spec: { containers: { name: string; image: string }[] }
}

export interface Deployment extends KubeObject {
  spec: { replicas: number; selector: { matchLabels: Labels }; template: PodTemplate }
  status: ReplicaCounts & { updatedReplicas: number }
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas: number; selector: { matchLabels: Labels }; template: PodTemplate }
  status: ReplicaCounts
}

interface ReplicaCounts {
  observedGeneration: number
  replicas: number
  readyReplicas: number
}

export interface Pod extends KubeObject {
  spec: PodTemplate['spec'] & { nodeName?: string }
  status: { phase: 'Pending' | 'Running'; podIP?: string }
}

export interface Node extends KubeObject {
  spec: { podCIDR: string }
}

export interface Service extends KubeObject {
  spec: { selector: Labels; ports: { port: number }[] }
}

export interface Endpoints extends KubeObject {
  subsets: EndpointSubset[]
}

export interface EndpointSubset {
  addresses: { ip: string; nodeName: string; targetRef: { kind: 'Pod'; name: string; uid: string } }[]
  ports: { port: number }[]
}

export interface HorizontalPodAutoscaler extends KubeObject {
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1'; kind: 'Deployment'; name: string }
    minReplicas: number
    maxReplicas: number
    metrics: [
      { type: 'Resource'; resource: { name: 'cpu'; target: { type: 'AverageValue'; averageValue: string } } },
    ]
  }
  status: { currentReplicas: number; desiredReplicas: number; lastScaleTime?: string }
}

interface PodMetrics extends KubeObject {
  containers: { name: string; usage: { cpu: string } }[]
}

export interface ConfigMap extends KubeObject {
  data: Labels
}

/** The resources of the API server, named as in an object reference. */
export interface Resources {
  'apps/v1/deployments': Deployment
  'apps/v1/replicasets': ReplicaSet
  'v1/pods': Pod
  'v1/nodes': Node
  'v1/services': Service
  'v1/endpoints': Endpoints
  'v1/configmaps': ConfigMap
  'autoscaling/v2/horizontalpodautoscalers': HorizontalPodAutoscaler
  'metrics.k8s.io/v1beta1/pods': PodMetrics
}

export type Resource = keyof Resources

/** An object as it is sent to be created: the API server adds the rest of the metadata. */
export type Draft<T extends KubeObject> = Omit<T, 'metadata'> & {
  metadata: Pick<Metadata, 'name' | 'namespace'> &
    Partial<Pick<Metadata, 'labels' | 'annotations' | 'ownerReferences'>>
}
