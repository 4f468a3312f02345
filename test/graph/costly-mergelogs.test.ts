import { mock } from 'node:test'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cycleBudget, findPlace } from '../../src/graph/record-mergelog.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { SqliteMergeGraph } from '../../src/store/sqlite/merge-graph.ts'
import { Progress } from '../../src/store/sqlite/transactions.ts'
import { cpid, type MergelogSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const LONG = 1_500

async function longChain(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  const chain = Array.from({ length: LONG }, (_, at) => ({
    new: cpid(at + 2),
    sources: [cpid(at + 1)],
    time: at,
  }))
  writer.mergelogs('chain', chain)
  return writer
}

/** How many edges are looked at to find the place of a mergelog, and where it is. */
function look({ db, clock }: TestWriter, id: number, sources: number[], edges = 1_000_000) {
  const graph = new SqliteMergeGraph(db, new Progress(db, clock))
  const budget = cycleBudget(edges)
  const mergelog = { cpid: cpid(id) as Cpid, sources: sources.map((source) => cpid(source) as Cpid) }
  return { place: findPlace(graph, mergelog, budget), edges: edges - budget.left }
}

test('a merge at either end of a long chain looks at a handful of edges', async () => {
  using writer = await longChain()
  writer.mergelogs('other', [{ new: cpid(90_001) }])
  const atStart = look(writer, 1, [90_001])
  expect(atStart.place).toMatchObject({ hasTargets: true })
  expect(atStart.edges).toBeLessThan(10)
  expect(look(writer, 90_001, [LONG + 1]).edges).toBe(0)
})

test('only a few descendants of a CPID that very many merged are searched', async () => {
  using writer = await TestWriter.open()
  const star = Array.from({ length: LONG }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(1)] }))
  writer.mergelogs('star', [...star, { new: cpid(90_001) }])
  const { place, edges } = look(writer, 1, [90_001])
  expect(place).toMatchObject({ hasTargets: true })
  expect(edges).toBeLessThan(100)
})

test('a dense graph whose mergelogs arrived in order is not searched for cycles, however large it is', async () => {
  using writer = await TestWriter.open()
  const dense = Array.from({ length: LONG }, (_, at) => ({
    new: cpid(at + 1),
    sources: Array.from({ length: Math.min(at, 30) }, (_unused, back) => cpid(at - back)),
  }))
  writer.mergelogs('dense', dense)
  writer.spans('late', [{ trace: 1, id: 1, cpid: cpid(90_001) }])
  writer.mergelogs('late', [{ new: cpid(90_002), sources: [cpid(90_001)] }])
  expect(look(writer, 90_001, [LONG]).edges).toBe(0)
  expect(look(writer, 90_003, [LONG, 90_002]).edges).toBe(0)
})

test('of the ancestors of a source, only those that are newer than the CPID of the late mergelog are searched', async () => {
  using writer = await longChain()
  writer.spans('late', [{ trace: 1, id: 1, cpid: cpid(90_001) }])
  writer.mergelogs(
    'fan',
    Array.from({ length: 300 }, (_, at) => ({ new: cpid(91_000 + at), sources: [cpid(90_001)] })),
  )
  writer.mergelogs('fan', [{ new: cpid(90_002), sources: [cpid(LONG)] }])
  expect(look(writer, 90_001, [90_002]).edges).toBeLessThan(100)
})

test('finding a cycle stops where the budget of the request does', async () => {
  using writer = await longChain()
  expect(writer.writer.gauges().cpids).toBe(LONG + 1)
  expect(look(writer, 1, [LONG + 1]).place).toBe('closesCycle')
  expect(look(writer, 1, [LONG + 1], 100).place).toBe('tooFar')
})

/** Mergelogs of a dense graph of CPIDs: `near` of them before each may be its sources. */
function denseGraph(near: number, random: () => number): MergelogSketch[] {
  return Array.from({ length: 3_000 }, (_, at) => {
    const sources = new Set<string>()
    while (sources.size < Math.min(3, at)) sources.add(cpid(at - Math.floor(random() * Math.min(at, near))))
    return { new: cpid(at + 1), sources: [...sources] }
  })
}

function drawnNumbers(seed: number): () => number {
  let last = seed
  return () => {
    last = (last * 1_103_515_245 + 12_345) & 0x7fffffff
    return last / 0x80000000
  }
}

test('no mergelog of a dense graph is refused, however they are mixed up within a thousand', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom(5, 50, 1_000), async (seed, near) => {
      using writer = await TestWriter.open()
      const random = drawnNumbers(seed)
      const mixed = denseGraph(near, random)
        .map((mergelog, at) => ({ mergelog, due: at + random() * 1_000 }))
        .sort((a, b) => a.due - b.due)
        .map(({ mergelog }) => mergelog)
      for (let at = 0; at < mixed.length; at += 100)
        expect(writer.mergelogs('mixed', mixed.slice(at, at + 100))).toMatchObject({ rejected: 0 })
    }),
    { numRuns: 6 },
  )
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
  expect(writer.rows('edges')).toBe(30)
})

test('what was worked out keeps its sources where the budget does not reach to take the mergelog that they contradict', async () => {
  const taken: number[] = []
  for (const maxCycleEdges of [60, 80, 100]) {
    using writer = await TestWriter.open({ maxCycleEdges })
    writer.mergelogs(
      'chain',
      Array.from({ length: 10 }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(at + 1)] })),
    )
    const workOut = 'UPDATE mergelogs SET worked_out = 1 WHERE cpid = (SELECT id FROM cpids WHERE text = ?)'
    writer.db.prepare(workOut).run(cpid(6))
    writer.mergelogs('late', [{ new: cpid(1), sources: [cpid(11)] }])
    expect(writer.rows('edges')).toBe(10)
    taken.push(writer.rows('mergelogs'))
  }
  expect(taken).toEqual([10, 11, 11])
})

test('CPIDs that wait for one missing ancestor are walked once in a round, not once for each that waits', async () => {
  using writer = await TestWriter.open()
  const chain = Array.from({ length: LONG }, (_, at) => ({
    new: cpid(at + 2),
    sources: [cpid(at + 1)],
    time: at,
  }))
  const asked = mock.method(SqliteMergeGraph.prototype, 'sourcesOf')
  writer.mergelogs('chain', chain)
  writer.pass(11_000)
  const times = asked.mock.callCount()
  asked.mock.restore()
  expect(times).toBeLessThan(20 * LONG)
})

const explainedIn = ({ db }: TestWriter): unknown =>
  db.prepare('SELECT count(*) FROM cpids WHERE explained = 1').pluck().get()

/** A chain that arrived backward, and a star; both below a CPID whose mergelog is missing. */
async function unexplained(retention = {}): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention })
  const backward = Array.from({ length: LONG }, (_, at) => LONG - at)
  writer.mergelogs(
    'chain',
    backward.map((at) => ({ new: cpid(at + 1), sources: [cpid(at)] })),
  )
  writer.mergelogs(
    'star',
    backward.map((at) => ({ new: cpid(10_000 + at), sources: [cpid(1)] })),
  )
  writer.link()
  return writer
}

test('a mergelog that explains many CPIDs explains some at once and the rest in turns, also after a restart', async () => {
  using writer = await unexplained()
  expect(explainedIn(writer)).toBe(0)
  writer.mergelogs('root', [{ new: cpid(1) }])
  expect(explainedIn(writer)).toBeGreaterThan(0)
  expect(explainedIn(writer)).toBeLessThan(LONG)
  const next = writer.reopened()
  expect(next.writer.isLinkDue).toBe(true)
  next.writer.link(100)
  expect(explainedIn(writer)).toBeLessThan(LONG)
  next.link()
  expect(explainedIn(writer)).toBe(2 * LONG + 1)
  expect(next.writer.isLinkDue).toBe(false)
})

const explainedOf = ({ db }: TestWriter, first: number, count: number): unknown =>
  db
    .prepare('SELECT count(*) FROM cpids WHERE explained = 1 AND text >= ? AND text < ?')
    .pluck()
    .get(cpid(first), cpid(first + count))

test('what is merged before all is explained is explained if, and only if, its other sources are', async () => {
  using writer = await unexplained()
  writer.mergelogs('root', [{ new: cpid(1) }])
  const late = [...Array(50).keys()].flatMap((at) => [
    { new: cpid(30_000 + at), sources: [cpid(1), cpid(10_001 + at * 20)] },
    { new: cpid(40_000 + at), sources: [cpid(1), cpid(77_777)] },
  ])
  writer.mergelogs('late', late)
  writer.link()
  expect(explainedOf(writer, 30_000, 50)).toBe(50)
  expect(explainedOf(writer, 40_000, 50)).toBe(0)
  expect(explainedOf(writer, 10_001, LONG)).toBe(LONG)
})

test('what merges a change that is pruned before it has told all that it is explained is explained like the rest', async () => {
  using writer = await unexplained({ maxCpids: LONG })
  const pairs = [...Array(50).keys()].map((at) => ({
    new: cpid(60_000 + at),
    sources: [cpid(1), cpid(50_000)],
  }))
  writer.mergelogs('pairs', [{ new: cpid(50_000), time: 1_000_000 }, ...pairs])
  writer.mergelogs('root', [{ new: cpid(1), time: 1 }])
  expect(explainedOf(writer, 60_000, 50)).toBe(0)
  // As if all of it had been linked and had settled.
  writer.db.exec(
    'DELETE FROM graph_events; DELETE FROM waiting; UPDATE traces SET state = 1; UPDATE progress SET linked_arrival = last_arrival',
  )
  const next = writer.reopened()
  while (next.writer.prune(300).more);
  expect(
    next.db.prepare('SELECT count(*) FROM cpids WHERE state = 0 AND text = ?').pluck().get(cpid(1)),
  ).toBe(0)
  next.link()
  expect(explainedOf(next, 60_000, 50)).toBe(50)
})

/** A CPID without a mergelog, and so many that merged it with others. */
async function awaitedByMany(merges: number, sources: number): Promise<TestWriter> {
  const writer = await TestWriter.open()
  const others = Array.from({ length: sources }, (_, at) => cpid(at + 1))
  writer.spans('late', [{ trace: 1, id: 1, cpid: cpid(90_001) }])
  writer.mergelogs(
    'others',
    others.map((other) => ({ new: other })),
  )
  const merged = Array.from({ length: merges }, (_, at) => ({
    new: cpid(91_000 + at),
    sources: [cpid(90_001), ...others],
  }))
  writer.mergelogs('merges', merged)
  return writer
}

const explained = (writer: TestWriter): number => Number(explainedOf(writer, 91_000, 1_000))

test('the more sources CPIDs have, the fewer of them are explained at once', async () => {
  using writer = await awaitedByMany(60, 160)
  writer.mergelogs('late', [{ new: cpid(90_001) }])
  const first = explained(writer)
  expect(first).toBeLessThan(50)
  writer.writer.link(500)
  expect(explained(writer) - first).toBeLessThan(50)
  while (writer.writer.reader.hasPostponedExplanation) writer.writer.link(1)
  expect(explained(writer)).toBe(60)
})
