import { expect, jest, test } from '@jest/globals'
import { closesCycle, cycleBudget } from '../../src/graph/cycle-check.ts'
import type { Cpid } from '../../src/model/cpid.ts'
import { SqliteMergeGraph } from '../../src/sqlite/merge-graph-store.ts'
import { Progress } from '../../src/sqlite/progress.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

/** A graph whose edges count how often they are asked for. */
class CountingGraph extends SqliteMergeGraph {
  edges = 0

  override sourcesOf(id: number): number[] {
    return this.#count(super.sourcesOf(id))
  }

  override targetsOf(id: number): number[] {
    return this.#count(super.targetsOf(id))
  }

  override targetsAfter(id: number, after: number, limit: number): number[] {
    return this.#count(super.targetsAfter(id, after, limit))
  }

  #count(found: number[]): number[] {
    this.edges += found.length + 1
    return found
  }
}

const LONG = 1_500

async function longChain(): Promise<{ writer: TestWriter; graph: CountingGraph }> {
  const writer = await TestWriter.open()
  const chain = Array.from({ length: LONG }, (_, at) => ({
    new: cpid(at + 2),
    sources: [cpid(at + 1)],
    time: at,
  }))
  writer.mergelogs('chain', chain)
  return { writer, graph: new CountingGraph(writer.db, new Progress(writer.db, writer.clock)) }
}

test('a merge at either end of a long chain looks at a handful of edges', async () => {
  const { writer: opened, graph } = await longChain()
  using writer = opened
  writer.mergelogs('other', [{ new: cpid(90_001) }])
  const name = (id: number): Cpid => cpid(id) as Cpid
  const ask = (id: number, source: number) =>
    closesCycle(graph, { cpid: name(id), sources: [name(source)] }, cycleBudget())
  expect(ask(1, 90_001)).toBe(false)
  expect(ask(90_001, LONG + 1)).toBe(false)
  expect(graph.edges).toBeLessThan(20)
})

test('of a CPID that very many merged, a few are looked at', async () => {
  using writer = await TestWriter.open()
  const star = Array.from({ length: LONG }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(1)] }))
  writer.mergelogs('star', [...star, { new: cpid(90_001) }])
  const graph = new CountingGraph(writer.db, new Progress(writer.db, writer.clock))
  const mergelog = { cpid: cpid(1) as Cpid, sources: [cpid(90_001) as Cpid] }
  expect(closesCycle(graph, mergelog, cycleBudget())).toBe(false)
  expect(graph.edges).toBeLessThan(100)
})

test('finding a cycle stops where the budget of the request does', async () => {
  const { writer: opened, graph } = await longChain()
  using writer = opened
  expect(writer.writer.gauges().cpids).toBe(LONG + 1)
  const mergelog = { cpid: cpid(1) as Cpid, sources: [cpid(LONG + 1) as Cpid] }
  expect(closesCycle(graph, mergelog, cycleBudget())).toBe(true)
  expect(closesCycle(graph, mergelog, cycleBudget(100))).toBe('tooFar')
})

test('a request that spends its budget is refused what is left of it, and the next has a budget of its own', async () => {
  using writer = await TestWriter.open({ maxCycleEdges: 100 })
  const chain = Array.from({ length: 30 }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(at + 1)] }))
  writer.mergelogs('chain', chain)
  const closing = { new: cpid(1), sources: [cpid(31)] }
  const rejected = (count: number): (string | null)[] => {
    const outcome = writer.mergelogs(
      'forger',
      Array.from({ length: count }, () => closing),
    )
    expect(outcome).toMatchObject({ kind: 'accepted', rejected: count })
    return writer.db.prepare<[], string>('SELECT reason FROM rejected_mergelogs').pluck().all()
  }
  expect(rejected(3)).toEqual(['closes_cycle', 'cycle_unknown', 'cycle_unknown'])
  expect(rejected(1)).toEqual(['closes_cycle', 'cycle_unknown', 'cycle_unknown', 'closes_cycle'])
  expect(writer.db.prepare('SELECT count(*) FROM edges').pluck().get()).toBe(30)
})

test('what waits for one missing ancestor walks over the CPIDs between once a round, not once each', async () => {
  using writer = await TestWriter.open()
  const chain = Array.from({ length: LONG }, (_, at) => ({
    new: cpid(at + 2),
    sources: [cpid(at + 1)],
    time: at,
  }))
  const asked = jest.spyOn(SqliteMergeGraph.prototype, 'sourcesOf')
  writer.mergelogs('chain', chain)
  writer.pass(11_000)
  const times = asked.mock.calls.length
  asked.mockRestore()
  expect(times).toBeLessThan(20 * LONG)
})
