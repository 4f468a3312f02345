import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { mergeContexts } from '../../src/kube/inference/merge-contexts.ts'
import type { KnownVersion } from '../../src/model/inference-store.ts'
import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'

const OBJECTS = 5

/** Somebody begins a change on an object, or writes it after reading others. */
interface Step {
  object: number
  begins: boolean
  read: number[]
}

const object = fc.nat(OBJECTS - 1)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    object,
    begins: fc.boolean(),
    read: fc.uniqueArray(object, { maxLength: 3 }),
  }),
  { maxLength: 80 },
)

const rootOf = (number: number): Cpid => {
  const parsed = parseCpid(cpid(number + 1))
  if (parsed === undefined) throw new Error(`${number} makes no CPID`)
  return parsed
}

/** Lives through the steps, and gives the change of each write; what is remembered of versions may be left out. */
function lived(all: readonly Step[], remembers: boolean): { cpids: (Cpid | undefined)[]; asked: number } {
  const changes = new MemoryChanges()
  let asked = 0
  const counting = {
    newest: (of: readonly Cpid[]) => {
      asked += of.length
      return changes.newest(of)
    },
  }
  const versions = new Map<number, KnownVersion>()
  const cpids = all.map(({ object: at, begins, read }, number) => {
    const known = (of: { cpid: Cpid; includes: readonly Cpid[] }): KnownVersion =>
      ({
        version: BigInt(number),
        gone: false,
        facts: undefined,
        ...of,
        includes: remembers ? of.includes : [],
      }) as never
    if (begins) {
      changes.merge(rootOf(number), [])
      versions.set(at, known({ cpid: rootOf(number), includes: [] }))
      return rootOf(number)
    }
    const before = versions.get(at)
    const reads = [before, ...read.map((one) => versions.get(one))].filter((one) => one !== undefined)
    const key = { cluster: 'test', uid: String(at), version: String(number) }
    const merged = mergeContexts(reads, before, counting, key)
    if (merged === undefined) return undefined
    if (merged.sources !== undefined) changes.merge(merged.cpid, merged.sources)
    versions.set(at, known(merged))
    return merged.cpid
  })
  return { cpids, asked }
}

test('what a version is remembered to come from changes no decision', () => {
  fc.assert(
    fc.property(steps, (all) => {
      expect(lived(all, true).cpids).toEqual(lived(all, false).cpids)
    }),
    { numRuns: 500 },
  )
})

test('an object that reads the same again and again asks nothing of what it has gone through', () => {
  const begun = [0, 1].map((at): Step => ({ object: at, begins: true, read: [] }))
  const other = Array.from({ length: 200 }, (): Step[] => [
    { object: 2, begins: true, read: [] },
    { object: 3, begins: false, read: [0, 1, 2] },
  ])
  const all = [...begun, ...other.flat()]
  // Its own change and the new one, each time.
  expect(lived(all, true).asked).toBeLessThan(2 * 200 + 10)
  expect(lived(all, false).asked).toBeGreaterThan(3 * 200)
})
