import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { inCausalOrder } from '../../src/kube/inference/cluster-inference.ts'
import { decide } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const RECORDING = new URL('../../lab/evaluation/truth/recordings/kinds/watch.jsonl.gz', import.meta.url)
const MS = 1_000_000n

/** What one watch after the other showed. */
const SEEN: readonly Observation[] = gunzipSync(readFileSync(RECORDING))
  .toString()
  .trim()
  .split('\n')
  .flatMap((line) => {
    const { time, type, object } = JSON.parse(line) as { time: string; type: string; object: JsonObject }
    const read = readWatchEvent({ type, object }, BigInt(Date.parse(time)) * MS)
    return typeof read === 'string' ? [] : [read]
  })

const resources = [...new Set(SEEN.map(({ object }) => object.resource))].sort()

/** Who wrote each version, where the store gets what the watch of a resource shows so much later. */
function writers(behind: ReadonlyMap<string, number>): Map<string, string> {
  const arriving = SEEN.map((one) => ({
    one,
    atNs: one.seenNs + BigInt(behind.get(one.object.resource) ?? 0) * MS,
  })).sort((a, b) => Number(a.atNs - b.atNs))
  const queue = new WriteQueue({ windowNs: 500n * MS, whoWaitNs: 0n, isWatched: true })
  const [objects, changes] = [new MemoryObjects(8), new MemoryChanges()]
  const settings = { cluster: 'test', relations: RELATIONS, operators: [], controllers: ['kwok'] }
  const found = new Map<string, string>()
  const turn = (nowNs: bigint): void => {
    for (const write of inCausalOrder(queue.takeDue(nowNs), objects)) {
      const decision = decide(write, objects, changes, settings)
      if (decision === undefined) continue
      if (decision.sources !== undefined) changes.merge(decision.cpid, decision.sources)
      const { object, version } = write
      found.set(
        `${object.resource}/${object.name} ${version}`,
        `${decision.part} by ${decision.writer.service}`,
      )
    }
  }
  for (const { one, atNs } of arriving) {
    queue.add(one, atNs)
    turn(atNs)
  }
  turn((arriving.at(-1)?.atNs ?? 0n) + 60_000n * MS)
  return found
}

const AT_ONCE = writers(new Map())

test('who wrote a version is known as well where one watch is behind the others', () => {
  const behind = fc.tuple(fc.constantFrom(...resources), fc.integer({ min: 0, max: 4_000 }))
  fc.assert(
    fc.property(fc.array(behind, { maxLength: 2 }), (drawn) => {
      const late = writers(new Map(drawn))
      const other = [...AT_ONCE].filter(([key, by]) => late.get(key) !== by)
      expect(other.map(([key, by]) => `${key}: ${by}, not ${late.get(key)}`)).toEqual([])
    }),
    { numRuns: 15 },
  )
})
