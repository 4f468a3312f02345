/** Who made a write: the service name under which its work is shown, and whether it reacts to others or begins a change. */
export interface Writer {
  /** `replicaset-controller`, `kube-scheduler`, `kubectl`. */
  readonly service: string
  /** The user name known to the API server; undefined if only a watch saw the write. */
  readonly user: string | undefined
  readonly role: 'controller' | 'operator' | 'unknown'
  /** On whose behalf it was made, as the written object says: a revision, or who requested it. */
  readonly actor?: string
  /** The revision that came with it and the author of that revision, as the written object says. */
  readonly revision?: string
  readonly author?: string
}

/** The user name of a service account: its namespace and its own name. */
export const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):(.+)$/

/**
 * Programs that people and pipelines use, except controllers that are named after them. What they write begins a change, whatever
 * credentials they use.
 */
export const TOOLS =
  /^(?:kubectl|helm|flux|oc|k9s|lens|terraform|pulumi|Mozilla|curl)\b(?![-\w]*(?:controller|operator))/i

/** The names of programs that reconcile what others make. */
export const CONTROLLER = /controller|operator|manager/

const KUBERNETES = /^(?:kube-scheduler|kubelet|cloud-controller-manager|kube-apiserver)$/

/** Which controllers write a status, where the process name does not distinguish them. */
export const OF_STATUS: Readonly<Record<string, string>> = {
  deployments: 'deployment-controller',
  replicasets: 'replicaset-controller',
  replicationcontrollers: 'replication-controller',
  statefulsets: 'statefulset-controller',
  daemonsets: 'daemon-set-controller',
  pods: 'kubelet',
  nodes: 'kubelet',
  jobs: 'job-controller',
  cronjobs: 'cronjob-controller',
  horizontalpodautoscalers: 'horizontal-pod-autoscaler',
  namespaces: 'namespace-controller',
  persistentvolumeclaims: 'persistent-volume-binder',
  persistentvolumes: 'persistent-volume-binder',
  resourceclaims: 'resource-claim-controller',
  poddisruptionbudgets: 'disruption-controller',
  resourcequotas: 'resourcequota-controller',
}
/** Which controllers write the content of a resource. */
export const OF_CONTENT: Readonly<Record<string, string>> = {
  replicasets: 'deployment-controller',
  endpointslices: 'endpointslice-controller',
  endpoints: 'endpoint-controller',
  persistentvolumeclaims: 'persistent-volume-binder',
  persistentvolumes: 'persistent-volume-binder',
}
/** Which controllers create objects without an owner. */
export const OF_NEW: Readonly<Record<string, string>> = {
  endpoints: 'endpoint-controller',
  persistentvolumeclaims: 'statefulset-controller',
  'serviceaccounts/default': 'service-account-controller',
  'configmaps/kube-root-ca.crt': 'root-ca-cert-publisher',
}
/** Who deletes a Pod after setting its condition DisruptionTarget, by the reason of that condition. */
export const OF_DISRUPTION: Readonly<Record<string, string>> = {
  DeletionByTaintManager: 'node-controller',
  DeletionByPodGC: 'pod-garbage-collector',
  PreemptionByScheduler: 'kube-scheduler',
  DeletionByDeviceTaintManager: 'device-taint-eviction-controller',
}
/** Who removes an object of a resource whose deletion has begun. */
export const OF_REMOVAL: Readonly<Record<string, string>> = {
  pods: 'kubelet',
  namespaces: 'namespace-controller',
  persistentvolumeclaims: 'pvc-protection-controller',
}
/** Which controllers write what an owner owns, by the kind of the owner. */
export const OF_OWNER: Readonly<Record<string, string>> = {
  Deployment: 'deployment-controller',
  ReplicaSet: 'replicaset-controller',
  ReplicationController: 'replication-controller',
  StatefulSet: 'statefulset-controller',
  DaemonSet: 'daemon-set-controller',
  Job: 'job-controller',
  CronJob: 'cronjob-controller',
  Service: 'endpointslice-controller',
  Endpoints: 'endpointslicemirroring-controller',
}
/** The resource that nobody but the kind's own controller creates for an owner of this kind. */
export const MADE_FOR: Readonly<Record<string, string>> = {
  Deployment: 'replicasets',
  ReplicaSet: 'pods',
  ReplicationController: 'pods',
  StatefulSet: 'pods',
  DaemonSet: 'pods',
  Job: 'pods',
  CronJob: 'jobs',
}

const OTHERS_OF_KUBERNETES = [
  ...['attachdetach-controller', 'certificate-controller', 'clusterrole-aggregation-controller'],
  ...['endpointslicemirroring-controller', 'ephemeral-volume-controller'],
  ...['expand-controller', 'legacy-service-account-token-cleaner', 'pod-garbage-collector'],
  ...['pv-protection-controller', 'pvc-protection-controller', 'replication-controller'],
  ...['resource-claim-controller', 'route-controller', 'service-cidrs-controller'],
  ...[
    'service-controller',
    'storage-version-migrator-controller',
    'taint-eviction-controller',
    'token-cleaner',
  ],
  ...['ttl-after-finished-controller', 'ttl-controller', 'validatingadmissionpolicy-status-controller'],
  ...['bootstrap-signer', 'volumeattributesclass-protection-controller'],
  ...['generic-garbage-collector', 'kube-apiserver', 'apiserver', 'kube-controller-manager', 'unknown'],
]
const OF_KUBERNETES: ReadonlySet<string> = new Set([
  ...[OF_STATUS, OF_CONTENT, OF_NEW, OF_DISRUPTION, OF_REMOVAL, OF_OWNER].flatMap(Object.values<string>),
  ...OTHERS_OF_KUBERNETES,
])

/** Whether a service is part of Kubernetes itself. */
export function isOfKubernetes(service: string): boolean {
  return OF_KUBERNETES.has(service) || KUBERNETES.test(service)
}

/**
 * The program that a service belongs to. The controllers of one program reconcile the same objects, and each has its own manager name.
 * `cert-manager` of `cert-manager-certificates-issuing`.
 */
export function programOf(service: string): string {
  const [first, second, ...more] = service.split('-')
  return more.length === 0 || isOfKubernetes(service) ? service : `${first}-${second}`
}

/** The service of an unknown writer. */
export const UNKNOWN = 'unknown'

export function unknown(): Writer {
  return { service: UNKNOWN, user: undefined, role: 'unknown' }
}

/** An operator whose name is not known. */
export function person(): Writer {
  return { service: UNKNOWN, user: undefined, role: 'operator' }
}

export function controller(service: string): Writer {
  return { service, user: undefined, role: 'controller' }
}
