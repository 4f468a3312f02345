import type { KubeObject, Resource } from '../api/kube-objects.ts'
import type { Location } from '../api/api-client.ts'
import { isRefusal } from '../api/api-error.ts'
import { owns } from '../api/ownership.ts'
import { runLoop, type ControllerContext } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { Tombstones } from '../runtime/tombstones.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** The resources that can be owned. */
const DEPENDENT = ['apps/v1/replicasets', 'v1/pods'] as const
const OWNERS = ['apps/v1/deployments', 'apps/v1/replicasets'] as const

const RECHECK_MS = 1_000

/** Deletes in the background what is left without an owner. */
export async function garbageCollector(surroundings: ControllerContext): Promise<void> {
  const { clock, signal, doWork, client } = surroundings
  const queue = new WorkQueue(clock, signal)
  const tombstones = new Tombstones()
  const informers = new Map<Resource, Informer<Resource>>()
  for (const resource of new Set([...DEPENDENT, ...OWNERS])) {
    const informer = new Informer<Resource>(resource, surroundings)
    informers.set(resource, informer)
    informer.onChange(({ old, now, latest }) => {
      if (old === undefined && ownersOf(latest).some((owner) => !isKnown(owner)))
        queue.add(nameOf(resource, latest))
      if (now === undefined && isOwner(resource)) addDependents(latest)
    })
  }

  function addDependents(owner: KubeObject): void {
    tombstones.add(owner.metadata.uid, owner)
    for (const resource of DEPENDENT) {
      for (const object of informers.get(resource)?.all() ?? []) {
        if (owns(owner, object)) queue.add(nameOf(resource, object))
      }
    }
  }

  function isKnown({ resource, at, uid }: Owner): boolean {
    return informers.get(resource)?.get(keyOf(at))?.metadata.uid === uid
  }

  async function reconcile(key: string): Promise<void> {
    const [resource, name] = key.split(' ') as [Resource, string]
    const object = informers.get(resource)?.get(name)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
    const owners = ownersOf(object)
    if (await anyExists(owners)) {
      // One that goes before the informer has heard of it would go unheard.
      if (!owners.some(isKnown)) queue.addAfter(key, RECHECK_MS)
      return
    }
    await doWork('collect garbage', async (work) => {
      work.observe(object, ...owners.flatMap(({ uid }) => tombstones.of(uid)))
      await work.delete(resource, object)
    })
  }

  /** Asks the API server itself: an informer may not have heard of a new owner yet. */
  async function anyExists(owners: readonly Owner[]): Promise<boolean> {
    for (const { resource, at, uid } of owners) {
      try {
        const owner = await client.get(resource, at)
        if (owner.metadata.uid === uid) return true
      } catch (error) {
        if (!isRefusal(error, 'NotFound')) throw error
      }
    }
    return false
  }

  await runLoop(surroundings, { informers: [...informers.values()], queue, reconcile, workers: 5 })
}

interface Owner {
  resource: (typeof OWNERS)[number]
  at: Location
  uid: string
}

function ownersOf({ metadata: { ownerReferences = [], namespace } }: KubeObject): Owner[] {
  return ownerReferences.map(({ kind, name, uid }) => {
    const resource = kind === 'Deployment' ? 'apps/v1/deployments' : 'apps/v1/replicasets'
    return { resource, at: { name, namespace }, uid }
  })
}

function isOwner(resource: Resource): boolean {
  return OWNERS.some((one) => one === resource)
}

/** What an object is called in the queue. */
function nameOf(resource: Resource, { metadata }: KubeObject): string {
  return `${resource} ${keyOf(metadata)}`
}
