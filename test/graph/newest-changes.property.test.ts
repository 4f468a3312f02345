import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { newestChanges } from '../../src/graph/ancestry.ts'
import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const CPIDS = 14
const ENOUGH = 10_000

const idOf = (number: number): Cpid => {
  const parsed = parseCpid(cpid(number + 1))
  if (parsed === undefined) throw new Error(`${number} makes no CPID`)
  return parsed
}

const id = fc.nat(CPIDS - 1)
const merges = fc.array(fc.record({ id, sources: fc.uniqueArray(id, { maxLength: 4 }) }), { maxLength: 30 })

/** Everything above a CPID, by walking all there is. */
function above(sources: ReadonlyMap<Cpid, readonly Cpid[]>, of: Cpid): Set<Cpid> {
  const seen = new Set<Cpid>()
  const todo = [of]
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    for (const source of sources.get(one) ?? []) {
      if (!seen.has(source)) todo.push(source)
      seen.add(source)
    }
  }
  return seen
}

test('the newest of some changes are those that a walk of the whole graph finds, in whatever order mergelogs came', async () => {
  await fc.assert(
    fc.asyncProperty(merges, fc.uniqueArray(id, { minLength: 1, maxLength: 6 }), async (steps, chosen) => {
      using writer = await TestWriter.open()
      for (const step of steps) {
        const sources = step.sources.map((source) => idOf(source))
        writer.mergelogs('test', [{ new: idOf(step.id), sources }])
      }
      const stored = new Map<Cpid, readonly Cpid[]>()
      const cpids = chosen.map(idOf)
      const newest = writer.stores.transactor.run(({ graph }) => {
        for (let number = 0; number < CPIDS; number++) {
          const node = graph.find(idOf(number))
          if (node !== undefined) stored.set(node.cpid, graph.storedSources(node.id) ?? [])
        }
        return newestChanges(graph, cpids, ENOUGH)
      })
      expect(newest).toEqual(
        cpids.filter((one) => !cpids.some((other) => other !== one && above(stored, other).has(one))),
      )
    }),
    { numRuns: 60 },
  )
})

test('a history too long to be looked at counts as unrelated', async () => {
  using writer = await TestWriter.open()
  const chain = Array.from({ length: 200 }, (_, number) => idOf(number))
  for (const [number, one] of chain.entries()) {
    writer.mergelogs('test', [{ new: one, sources: number === 0 ? [] : [idOf(number - 1)] }])
  }
  const ends = [idOf(0), idOf(199)]
  const newest = (maxEdges: number): Cpid[] =>
    writer.stores.transactor.run(({ graph }) => newestChanges(graph, ends, maxEdges))
  expect(newest(1_000)).toEqual([idOf(199)])
  expect(newest(50)).toEqual(ends)
})
