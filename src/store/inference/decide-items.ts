import { decide, type InferenceSettings } from '../../inference/decide.ts'
import { ownersFirst } from '../../inference/line/owners-first.ts'
import { encodeEvents } from '../../inference/spans/encode-events.ts'
import { placeEvent } from '../../inference/place-event.ts'
import type { InferenceCounts } from '../../model/kubernetes/inference-counts.ts'
import type { ClusterObjects } from '../../model/kubernetes/cluster-objects.ts'
import type { ClusterEvent } from '../../model/kubernetes/cluster-event.ts'
import type { Write } from '../../model/kubernetes/write.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { DecisionRecords } from './record-decisions.ts'

/** A write to be decided, or an Event to be told. */
export type Item = Write | ClusterEvent

interface Deciding {
  readonly objects: ClusterObjects
  readonly records: DecisionRecords
  readonly settings: InferenceSettings
  readonly counts: InferenceCounts
}

/** Decides about some writes in their order, and records what was decided. */
export function decideItems(items: readonly Item[], { objects, records, settings, counts }: Deciding): void {
  const writes = items.filter(isWrite)
  for (const write of ownersFirst(writes, objects)) {
    const decision = decide(write, objects, records, settings)
    if (decision === undefined) {
      counts.unchanged++
      continue
    }
    records.add(decision)
    counts[decision.cause]++
    if (decision.gap) counts.gaps++
  }
  records.flush()
  const events = items.filter(isEvent).flatMap((event) => placeEvent(event, objects) ?? [])
  counts.events += events.length
  if (events.length > 0) records.record('logs', encodeEvents(settings.cluster, events))
}

/** How an item is named where it could not be worked on. */
export function setAsideItemOf(item: Item): Pick<SetAside, 'stage' | 'kind' | 'item'> {
  const kind = isEvent(item)
    ? `Event of ${item.regarding.namespace}/${item.regarding.name}`
    : `write of ${item.object.resource} ${item.object.namespace}/${item.object.name}`
  return { stage: 'inference', kind, item: Number(item.version ?? 0n) }
}

function isWrite(item: Item): item is Write {
  return !isEvent(item)
}

function isEvent(item: Item): item is ClusterEvent {
  return 'regarding' in item
}
