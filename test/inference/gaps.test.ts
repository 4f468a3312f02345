import { describe, expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide, type Decision } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { WatchedVersion } from '../../src/model/kubernetes-observations.ts'

const SETTINGS = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
const LINE = { windowNs: 10n, whoWaitNs: 0n, isWatched: true }
const CPID = '11111111-2222-4333-8444-555555555555'

interface Sketch {
  version: number
  generation?: number
  type?: string
  by?: WatchedVersion['by']
  annotations?: Record<string, string>
  replicas?: number
}

function seen({
  version,
  generation = 1,
  type = 'MODIFIED',
  by = 'event',
  annotations = {},
  replicas = 1,
}: Sketch): WatchedVersion {
  const metadata = {
    ...{
      name: 'web',
      namespace: 'shop',
      uid: 'u1',
      resourceVersion: String(version),
      generation,
      annotations,
    },
    managedFields: [{ manager: 'kubectl-edit', operation: 'Update', time: `t${version}` }],
  }
  const object = { kind: 'Deployment', apiVersion: 'apps/v1', metadata, spec: { replicas } }
  const read = readWatchEvent({ type, object }, BigInt(version))
  if (typeof read === 'string') throw new Error(read)
  return { ...read, by }
}

function decided(...sketches: Sketch[]): Decision[] {
  const [objects, changes, line] = [new MemoryObjects(), new MemoryChanges(), new WriteQueue(LINE)]
  for (const sketch of sketches) line.add(seen(sketch), 0n)
  return line.takeDue(100n).flatMap((write) => {
    const decision = decide(write, objects, changes, SETTINGS)
    if (decision?.sources !== undefined) changes.merge(decision.cpid, decision.sources)
    return decision ?? []
  })
}

const gapsOf = (decisions: readonly Decision[]): unknown =>
  decisions.map(({ write, gap }) => [Number(write.version), gap])

describe('versions that nobody saw', () => {
  test('what was there before anybody looked is no write, and what it carried goes on', () => {
    const decisions = decided(
      { version: 5, by: 'first list', annotations: { 'causeway.io/cpid': CPID } },
      { version: 9, generation: 2, replicas: 2 },
    )
    expect(gapsOf(decisions)).toEqual([[9, false]])
  })

  test('what a later list has came while nobody looked: it is told, and marked', () => {
    expect(gapsOf(decided({ version: 7, by: 'later list' }))).toEqual([[7, true]])
    const changed = decided(
      { version: 5, type: 'ADDED' },
      { version: 9, by: 'later list', generation: 4, replicas: 3 },
    )
    expect(gapsOf(changed)).toEqual([
      [5, false],
      [9, true],
    ])
  })

  test('a list of what is known changes nothing', () => {
    const again = decided({ version: 5, type: 'ADDED' }, { version: 5, by: 'later list' })
    expect(gapsOf(again)).toEqual([[5, false]])
  })

  test('a generation that was left out shows that a version was', () => {
    const decisions = decided({ version: 5, type: 'ADDED' }, { version: 8, generation: 3, replicas: 4 })
    expect(gapsOf(decisions)).toEqual([
      [5, false],
      [8, true],
    ])
  })
})

test('how many versions are missing is told by the generation, or by who has signed since', () => {
  const missedOf = (...sketches: Sketch[]): number[] => decided(...sketches).map(({ missed }) => missed)
  expect(missedOf({ version: 1 }, { version: 2, generation: 2 })).toEqual([0, 0])
  // Generations 2 and 3 were not seen.
  expect(missedOf({ version: 1 }, { version: 9, generation: 4 })).toEqual([0, 2])
  // One writer may have written once or often.
  expect(missedOf({ version: 1 }, { version: 9, by: 'later list' })).toEqual([0, 0])
  const made = seen({ version: 5, by: 'later list' })
  const managers = ['kubectl', 'kubelet', 'kube-controller-manager'].map((manager) => ({
    ...{ manager, operation: 'Update', subresource: '', time: 't5' },
  }))
  const write = { ...made, facts: { ...made.facts, managers }, request: undefined, listed: 'later' as const }
  expect(decide(write, new MemoryObjects(), new MemoryChanges(), SETTINGS)).toMatchObject({
    gap: true,
    missed: 2,
  })
})
