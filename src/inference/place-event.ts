import type { ClusterObjects, KnownObject } from '../model/kubernetes/cluster-objects.ts'
import type { EventObject, ClusterEvent } from '../model/kubernetes/cluster-event.ts'
import type { PlacedEvent } from './spans/encode-events.ts'

/**
 * The change that an Event belongs to: that of the version of its object which whoever tells had seen, else of the newest that
 * was there. Undefined for one that was told before.
 */
export function placeEvent(event: ClusterEvent, objects: ClusterObjects): PlacedEvent | undefined {
  if (!objects.isFirstTold(`event ${event.uid} ${event.version}`)) return undefined
  const { regarding } = event
  const { versions = [] } = objectOf(regarding, objects) ?? {}
  const seen = regarding.version ?? event.version
  const known = versions.find(({ version }) => version <= seen) ?? versions.at(-1)
  return { event, cpid: known?.cpid }
}

function objectOf({ uid }: EventObject, objects: ClusterObjects): KnownObject | undefined {
  return uid === '' ? undefined : objects.get(uid)
}
