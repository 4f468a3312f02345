import type { KubeObject, OwnerReference, Resource } from '../api/kube-objects.ts'
import { isRefusal } from '../api/api-error.ts'
import { owns } from '../api/ownership.ts'
import { runLoop, type Surroundings } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { Tombstones } from '../runtime/tombstones.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** The resources that can be owned. */
const DEPENDENT = ['apps/v1/replicasets', 'v1/pods'] as const
const OWNERS = ['apps/v1/deployments', 'apps/v1/replicasets'] as const

/** Deletes in the background what is left without an owner. */
export async function garbageCollector(surroundings: Surroundings): Promise<void> {
  const { clock, signal, doWork, client } = surroundings
  const queue = new WorkQueue(clock, signal)
  const tombstones = new Tombstones()
  const informers = new Map<Resource, Informer<Resource>>()
  for (const resource of new Set([...DEPENDENT, ...OWNERS])) {
    const informer = new Informer<Resource>(resource, surroundings)
    informers.set(resource, informer)
    informer.onChange(({ now, latest }) => {
      if (now !== undefined) return
      tombstones.add(latest.metadata.uid, latest)
      for (const { key, object } of dependents()) if (owns(latest, object)) queue.add(key)
    })
  }

  function dependents(): { key: string; object: KubeObject }[] {
    return DEPENDENT.flatMap((resource) => {
      const all = informers.get(resource)?.all() ?? []
      return all.map((object) => ({ key: `${resource} ${keyOf(object.metadata)}`, object }))
    })
  }

  async function reconcile(key: string): Promise<void> {
    const [resource, name] = key.split(' ') as [Resource, string]
    const object = informers.get(resource)?.get(name)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
    const { ownerReferences: owners = [], namespace } = object.metadata
    if (await anyExists(owners, namespace)) return
    await doWork('collect garbage', async (work) => {
      work.observe(object, ...owners.flatMap(({ uid }) => tombstones.of(uid)))
      await work.delete(resource, object)
    })
  }

  /** Asks the API server itself: an informer may not have heard of a new owner yet. */
  async function anyExists(owners: readonly OwnerReference[], namespace: string): Promise<boolean> {
    for (const { kind, name, uid } of owners) {
      const resource = kind === 'Deployment' ? 'apps/v1/deployments' : 'apps/v1/replicasets'
      try {
        const owner = await client.get(resource, { name, namespace })
        if (owner.metadata.uid === uid) return true
      } catch (error) {
        if (!isRefusal(error, 'NotFound')) throw error
      }
    }
    return false
  }

  await runLoop(surroundings, { informers: [...informers.values()], queue, reconcile, workers: 5 })
}
