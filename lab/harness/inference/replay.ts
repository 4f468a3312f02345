import { inCausalOrder } from '../../../src/kube/inference/cluster-inference.ts'
import { decide, type Decision } from '../../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../../src/kube/inference/relations.ts'
import type { AttributionSettings } from '../../../src/kube/inference/write-attribution.ts'
import { WriteQueue } from '../../../src/kube/inference/write-queue.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { MemoryChanges } from './memory-changes.ts'
import { MemoryObjects } from './memory-objects.ts'

const SECOND_NS = 1_000_000_000n

export type Source = 'audit' | 'watch'

/** A receiver knows that its watch of a resource is lost, until it has begun anew. */
export interface Outage {
  readonly fromNs: bigint
  readonly untilNs: bigint
}

export interface Replayed {
  readonly decisions: readonly Decision[]
  readonly changes: MemoryChanges
  /** Writes that were never decided. */
  readonly left: number
}

/** Decides what a cluster's sources told as it would have been decided then. */
export function replay(
  observations: readonly Observation[],
  sources: readonly Source[],
  decided: (some: readonly Decision[], nowNs: bigint) => void = () => undefined,
  who: AttributionSettings = { operators: [], controllers: ['kwok'] },
  objects = new MemoryObjects(),
  outages: readonly Outage[] = [],
): Replayed {
  const changes = new MemoryChanges()
  const line = new WriteQueue({
    windowNs: SECOND_NS / 2n,
    whoWaitNs: sources.includes('audit') ? 2n * SECOND_NS : 0n,
    isWatched: sources.includes('watch'),
  })
  const settings = { cluster: 'test', relations: RELATIONS, ...who }
  const decisions: Decision[] = []
  const turn = (nowNs: bigint): void => {
    if (outages.some(({ fromNs, untilNs }) => fromNs <= nowNs && nowNs < untilNs)) return
    const some: Decision[] = []
    for (const write of inCausalOrder(line.takeDue(nowNs), objects)) {
      const decision = decide(write, objects, changes, settings)
      if (decision === undefined) continue
      if (decision.sources !== undefined) changes.merge(decision.cpid, decision.sources)
      if (decision.completes !== undefined) changes.merge(decision.completes.cpid, decision.completes.sources)
      some.push(decision)
    }
    if (some.length === 0) return
    decided(some, nowNs)
    decisions.push(...some)
  }
  for (const observation of observations) {
    line.add(observation, observation.seenNs)
    turn(observation.seenNs)
  }
  turn((observations.at(-1)?.seenNs ?? 0n) + 60n * SECOND_NS)
  return { decisions, changes, left: line.size }
}
