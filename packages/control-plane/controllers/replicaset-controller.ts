import { hasSame } from '../api/same-content.ts'
import { ownerName, ownerReferenceTo, owns } from '../api/ownership.ts'
import type { Pod, ReplicaSet } from '../api/kube-objects.ts'
import { runLoop, type ControllerContext } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { Tombstones } from '../runtime/tombstones.ts'
import type { Work } from '../runtime/work.ts'
import { WorkQueue } from '../runtime/work-queue.ts'
import { isReady } from './pod-state.ts'

/** Keeps as many Pods as a ReplicaSet asks for. */
export async function replicaSetController(surroundings: ControllerContext): Promise<void> {
  const { clock, signal, chance, doWork } = surroundings
  const replicaSets = new Informer('apps/v1/replicasets', surroundings)
  const pods = new Informer('v1/pods', surroundings)
  const queue = new WorkQueue(clock, signal)
  const tombstones = new Tombstones()
  const deleting = new Set<string>()
  replicaSets.onChange(({ latest }) => queue.add(keyOf(latest.metadata)))
  pods.onChange(({ now, latest: pod }) => {
    const name = ownerName(pod, 'ReplicaSet')
    if (name === undefined) return
    const key = keyOf({ namespace: pod.metadata.namespace, name })
    if (now === undefined) {
      deleting.delete(pod.metadata.uid)
      tombstones.add(key, pod)
    }
    queue.add(key)
  })

  async function reconcile(key: string): Promise<void> {
    const replicaSet = replicaSets.get(key)
    const gone = tombstones.of(key)
    if (replicaSet === undefined) {
      tombstones.forget(key)
      return
    }
    await doWork('reconcile ReplicaSet', async (work) => {
      const owned = pods.all().filter((pod) => owns(replicaSet, pod))
      const active = owned.filter(isActive)
      work.observe(replicaSet, ...owned, ...gone)
      const missing = replicaSet.spec.replicas - active.length
      if (missing > 0) await createPods(work, replicaSet, missing)
      else for (const pod of leastWanted(active, -missing)) await deletePod(work, pod)
      await writeStatus(work, replicaSet, active)
      tombstones.forget(key, gone)
    })
  }

  function isActive({ metadata }: Pod): boolean {
    return metadata.deletionTimestamp === undefined && !deleting.has(metadata.uid)
  }

  /** In batches that double, so that what fails for one Pod is not tried for all. */
  async function createPods(work: Work, replicaSet: ReplicaSet, missing: number): Promise<void> {
    for (let left = missing, batch = 1; left > 0; left -= batch, batch = Math.min(2 * batch, left)) {
      await Promise.all(Array.from({ length: batch }, () => createPod(work, replicaSet)))
    }
  }

  async function createPod(work: Work, replicaSet: ReplicaSet): Promise<void> {
    const { template } = replicaSet.spec
    const created = await work.create('v1/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${replicaSet.metadata.name}-${chance.suffix()}`,
        namespace: replicaSet.metadata.namespace,
        labels: template.metadata.labels,
        ownerReferences: ownerReferenceTo(replicaSet),
      },
      spec: template.spec,
      status: { phase: 'Pending' },
    })
    pods.remember(created)
  }

  async function deletePod(work: Work, pod: Pod): Promise<void> {
    deleting.add(pod.metadata.uid)
    try {
      await work.delete('v1/pods', pod)
    } catch (error) {
      deleting.delete(pod.metadata.uid)
      throw error
    }
  }

  async function writeStatus(work: Work, replicaSet: ReplicaSet, active: readonly Pod[]): Promise<void> {
    const status = {
      observedGeneration: replicaSet.metadata.generation,
      replicas: active.length,
      readyReplicas: active.filter(isReady).length,
    }
    if (hasSame(status, replicaSet.status)) return
    replicaSets.remember(await work.updateStatus('apps/v1/replicasets', { ...replicaSet, status }))
  }

  await runLoop(surroundings, { informers: [replicaSets, pods], queue, reconcile, workers: 5 })
}

/** Which Pods go first: those that are not ready, then the youngest. */
function leastWanted(pods: readonly Pod[], count: number): Pod[] {
  const rank = (pod: Pod) => (isReady(pod) ? 1 : 0)
  const ordered = [...pods].sort((one, other) => {
    const byAge = other.metadata.creationTimestamp.localeCompare(one.metadata.creationTimestamp)
    return rank(one) - rank(other) || byAge || one.metadata.name.localeCompare(other.metadata.name)
  })
  return ordered.slice(0, Math.max(0, count))
}
