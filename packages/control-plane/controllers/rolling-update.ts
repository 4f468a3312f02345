import type { Deployment, ReplicaSet } from '../api/kube-objects.ts'

const MAX_SURGE = 0.25
const MAX_UNAVAILABLE = 0.25

/** How many replicas the ReplicaSet of the newest template is to have: all that fit within the surge. */
export function replicasOfNew(
  { spec: { replicas } }: Deployment,
  current: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): number {
  const others = sumOf(old, ({ spec }) => spec.replicas)
  if (others === 0) return replicas
  const most = replicas + Math.ceil(replicas * MAX_SURGE) - others
  return Math.min(replicas, Math.max(current?.spec.replicas ?? 0, most))
}

/** How far each older ReplicaSet can be scaled down while enough Pods stay ready. */
export function replicasOfOld(
  { spec: { replicas } }: Deployment,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): [ReplicaSet, number][] {
  const leastReady = replicas - Math.floor(replicas * MAX_UNAVAILABLE)
  const ready = sumOf([current, ...old], ({ status }) => status.readyReplicas)
  const onTheWayOut = sumOf(old, ({ spec, status }) => Math.max(0, status.readyReplicas - spec.replicas))
  let spare = Math.max(0, ready - onTheWayOut - leastReady)
  return old.map((replicaSet) => {
    const unready = Math.max(0, replicaSet.spec.replicas - replicaSet.status.readyReplicas)
    const cut = Math.min(replicaSet.spec.replicas, unready + spare)
    spare -= cut - Math.min(cut, unready)
    return [replicaSet, replicaSet.spec.replicas - cut]
  })
}

function sumOf(replicaSets: readonly ReplicaSet[], count: (replicaSet: ReplicaSet) => number): number {
  return replicaSets.reduce((sum, replicaSet) => sum + count(replicaSet), 0)
}
