import type {
  Deployment,
  Endpoints,
  KubeObject,
  Pod,
  ReplicaSet,
  Service,
} from '../../packages/control-plane/api/kube-objects.ts'
import type { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import { matches, owns } from '../../packages/control-plane/api/ownership.ts'
import { isReady } from '../../packages/control-plane/controllers/pod-state.ts'

/** What a cluster has come to, as an operator would judge it. */
interface ClusterState {
  /** By Deployment: its image with each ready Pod that runs it. */
  running: Record<string, string[]>
  status: Record<string, unknown>
  /** What nobody owns any more, and Pods that do not run. */
  leftOver: string[]
  /** By Service: the Pods that can be reached. */
  reachable: Record<string, string[]>
}

export function stateOf(store: ObjectStore): ClusterState {
  const deployments = store.list('apps/v1/deployments').items as Deployment[]
  const replicaSets = store.list('apps/v1/replicasets').items as ReplicaSet[]
  const pods = store.list('v1/pods').items as Pod[]
  const owned = (object: KubeObject) => {
    return [...deployments, ...replicaSets].some((owner) => owns(owner, object))
  }
  const endpoints = store.list('v1/endpoints').items as Endpoints[]
  return {
    running: byName(deployments, (deployment) => {
      const own = replicaSets.filter((replicaSet) => owns(deployment, replicaSet))
      const running = pods.filter((pod) => isReady(pod) && own.some((replicaSet) => owns(replicaSet, pod)))
      return running.map(({ spec }) => spec.containers[0]?.image ?? '')
    }),
    status: byName(deployments, ({ status }) => status),
    leftOver: [...replicaSets, ...pods]
      .filter((object) => !owned(object) || (object.kind === 'Pod' && !isReady(object as Pod)))
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    reachable: byName(endpoints, ({ subsets }) => {
      return subsets.flatMap(({ addresses }) => addresses.map(({ targetRef }) => targetRef.name)).sort()
    }),
  }
}

/** What it should have come to, by what was asked for. */
export function asAsked(store: ObjectStore): ClusterState {
  const deployments = store.list('apps/v1/deployments').items as Deployment[]
  const services = store.list('v1/services').items as Service[]
  const pods = store.list('v1/pods').items as Pod[]
  return {
    running: byName(deployments, ({ spec }) => {
      return Array<string>(spec.replicas).fill(spec.template.spec.containers[0]?.image ?? '')
    }),
    status: byName(deployments, ({ spec: { replicas }, metadata: { generation } }) => {
      const counts = { replicas, updatedReplicas: replicas, readyReplicas: replicas }
      return { observedGeneration: generation, ...counts }
    }),
    leftOver: [],
    reachable: byName(services, ({ spec }) => {
      return pods
        .filter((pod) => matches(spec.selector, pod))
        .map(({ metadata }) => metadata.name)
        .sort()
    }),
  }
}

function byName<T extends KubeObject, V>(objects: readonly T[], value: (object: T) => V): Record<string, V> {
  return Object.fromEntries(objects.map((object) => [object.metadata.name, value(object)]))
}
