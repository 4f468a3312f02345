export interface Metadata {
  name: string
  namespace: string
  uid: string
  resourceVersion: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { kind: string; name: string; uid: string }[]
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: Metadata
}

export interface Deployment extends KubeObject {
  spec: { replicas: number; labels: Record<string, string>; image: string }
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas: number; labels: Record<string, string>; image: string }
}

export interface Pod extends KubeObject {
  spec: { image: string; nodeName?: string }
  status: { podIP?: string }
}

export interface Service extends KubeObject {
  spec: { selector: Record<string, string>; port: number }
}

export interface Endpoints extends KubeObject {
  addresses: { ip: string; pod: string }[]
}

/** The resources of the demo's API server, named as in an object reference. */
export interface Resources {
  'apps/v1/deployments': Deployment
  'apps/v1/replicasets': ReplicaSet
  'v1/pods': Pod
  'v1/services': Service
  'v1/endpoints': Endpoints
}

export type Resource = keyof Resources

/** An object as it is sent to be created: the API server adds uid and resourceVersion. */
export type Draft<T extends KubeObject> = Omit<T, 'metadata'> & {
  metadata: Omit<Metadata, 'uid' | 'resourceVersion'>
}

/** True when an object's labels have everything the selector asks for. */
export function matches(selector: Record<string, string>, { metadata }: KubeObject): boolean {
  return Object.entries(selector).every(([key, value]) => metadata.labels?.[key] === value)
}

/** True when `owner` is why `object` exists. */
export function owns(owner: KubeObject, { metadata }: KubeObject): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false
}

/** What an object made for `owner` says about it. */
export function ownerReferenceTo({ kind, metadata: { name, uid } }: KubeObject) {
  return [{ kind, name, uid }]
}
