import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { decide, type Decision } from '../../../src/inference/decide.ts'
import { LineOfWrites } from '../../../src/inference/line-of-writes.ts'
import { RELATIONS } from '../../../src/inference/relations.ts'
import { textIn, type JsonObject } from '../../../src/kubernetes/json-access.ts'
import { readAuditEvent } from '../../../src/kubernetes/read-audit-event.ts'
import { readWatchEvent } from '../../../src/kubernetes/read-watch-event.ts'
import type { Observation } from '../../../src/model/kubernetes/observation.ts'
import { parseRfc3339 } from '../../../src/model/rfc3339.ts'
import { MemoryChanges } from './memory-changes.ts'
import { MemoryObjects } from './memory-objects.ts'

const ROLLOUT = new URL('../recordings/rollout/', import.meta.url)
const SECOND_NS = 1_000_000_000n

export type Source = 'audit' | 'watch'

export interface Replayed {
  readonly decisions: readonly Decision[]
  readonly changes: MemoryChanges
  /** Writes that were never decided. */
  readonly left: number
}

/** Every line of a recording of a real cluster. */
export function recordedLines(source: Source): JsonObject[] {
  const text = gunzipSync(readFileSync(new URL(`${source}.jsonl.gz`, ROLLOUT))).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
}

/** What the sources told, in the order in which they did. */
export function recordedObservations(sources: readonly Source[]): Observation[] {
  const all = sources.flatMap((source) =>
    recordedLines(source).flatMap((line) => {
      const read =
        source === 'audit'
          ? readAuditEvent(line)
          : readWatchEvent(line, parseRfc3339(textIn(line, 'time')) ?? 0n)
      return typeof read === 'string' ? [] : [read]
    }),
  )
  return all.sort((one, other) => (one.seenNs < other.seenNs ? -1 : 1))
}

/** Decides what a cluster's sources told as it would have been decided then. */
export function replay(
  observations: readonly Observation[],
  sources: readonly Source[],
  decided: (some: readonly Decision[], nowNs: bigint) => void = () => undefined,
): Replayed {
  const objects = new MemoryObjects()
  const changes = new MemoryChanges()
  const line = new LineOfWrites({
    windowNs: SECOND_NS / 2n,
    whoWaitNs: sources.includes('audit') ? 2n * SECOND_NS : 0n,
    isWatched: sources.includes('watch'),
  })
  const settings = { cluster: 'test', relations: RELATIONS, operators: [], controllers: ['kwok'] }
  const decisions: Decision[] = []
  const turn = (nowNs: bigint): void => {
    const some: Decision[] = []
    for (const write of line.takeDue(nowNs)) {
      const decision = decide(write, objects, changes, settings)
      if (decision === undefined) continue
      if (decision.sources !== undefined) changes.merge(decision.cpid, decision.sources)
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
