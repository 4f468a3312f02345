import { expect, test } from '@jest/globals'
import { Pruner } from '../../../src/graph/prune.ts'
import type { PruneStore, Retention } from '../../../src/model/store-ports.ts'
import { SqliteMergeGraph } from '../../../src/store/sqlite/merge-graph.ts'
import { sqlitePruneStore } from '../../../src/store/sqlite/pruning.ts'
import { TRACE_INDEX_SIZES, TraceIndex } from '../../../src/store/sqlite/trace-id-index.ts'
import { Progress } from '../../../src/store/sqlite/transactions.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { exporterAt, liveCpids, pruneAll } from './stored.ts'

const SETTLED = 300_001
const HOUR = 3_600_000
const LIMITLESS: Retention = { maxCpids: 0, maxAgeMs: 0, maxBytes: 0 }

/** Counts how often a store is asked what holds a CPID, when it was last active, and what comes next. */
function countQuestions(store: PruneStore, count: (questions: number) => void): void {
  const asked = { ...store }
  store.hold = (cpid) => {
    count(1)
    return asked.hold(cpid)
  }
  store.candidates = (...range) => {
    const found = asked.candidates(...range)
    count(1 + found.length)
    return found
  }
}

/** Prunes what a writer stored, and counts the questions of each turn. */
function countingPruner(writer: TestWriter, retention: Partial<Retention>): (budget: number) => number[] {
  const progress = new Progress(writer.db, writer.clock)
  const graph = new SqliteMergeGraph(writer.db, progress)
  const nobody = (): void => undefined
  const store = sqlitePruneStore(writer.db, progress, {
    graph,
    index: new TraceIndex(writer.db, progress, TRACE_INDEX_SIZES),
    rows: { origin: nobody, object: nobody, trace: nobody, waitingLog: nobody },
  })
  let questions = 0
  countQuestions(store, (more) => (questions += more))
  const pruner = new Pruner(store, graph, {
    retention: { ...LIMITLESS, ...retention },
    maxFanout: 8,
    attempt: (_cpid, _does, work) => {
      work()
      return true
    },
  })
  return (budget) => {
    const turns: number[] = []
    for (let more = true; more;) {
      questions = 0
      more = writer.db.transaction(() => {
        progress.load()
        const result = pruner.prune(budget)
        progress.save()
        return result.more
      })()
      turns.push(questions)
    }
    return turns
  }
}

async function heldByExporter(count: number): Promise<TestWriter> {
  const writer = await TestWriter.open()
  const mergelogs = Array.from({ length: count }, (_, at) => ({ new: cpid(at + 1), time: at }))
  writer.mergelogs('kubectl', mergelogs)
  writer.pass(SETTLED)
  exporterAt(writer, 0)
  return writer
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

test.each([
  ['max_cpids', { maxCpids: 1 }],
  ['max_bytes and max_cpids', { maxCpids: 1, maxBytes: 2 ** 40 }],
  ['max_age', { maxAgeMs: 1 }],
])('what a dead backend holds beyond %s is looked at once, in short turns', async (_, retention) => {
  using writer = await heldByExporter(1_200)
  const prune = countingPruner(writer, retention)
  const first = prune(10)
  expect(sum(first)).toBeGreaterThan(1_200)
  expect(Math.max(...first)).toBeLessThan(600)
  // A round with nothing new asks only whether something has come in between.
  expect(sum(prune(10))).toBeLessThan(20)
  writer.mergelogs(
    'kubectl',
    [1, 2, 3, 4, 5].map((at) => ({ new: cpid(4_000 + at), time: 4_000 + at })),
  )
  writer.pass(SETTLED)
  expect(sum(prune(10))).toBeLessThan(40)
  expect(liveCpids(writer)).toHaveLength(1_205)

  exporterAt(writer)
  prune(10)
  expect(liveCpids(writer).length).toBeLessThan(2)
})

test('an exporter that moves on frees what it has sent, and nobody looks at the rest', async () => {
  using writer = await heldByExporter(1_200)
  const prune = countingPruner(writer, { maxCpids: 1 })
  prune(10)
  exporterAt(writer, Math.floor(writer.writer.progress.lastDecision / 2))
  const before = liveCpids(writer).length
  prune(10)
  const { length } = liveCpids(writer)
  expect(length).toBeLessThanOrEqual(before)
  exporterAt(writer)
  prune(10)
  expect(liveCpids(writer)).toEqual([1_200])
})

test('a cascade of many changes goes over many turns, also when Causeway is started in between', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  const changes = Array.from({ length: 400 }, (_, at) => {
    const sources = at % 3 === 0 ? [at, 1] : [Math.ceil(at / 2)]
    return { new: cpid(at + 1), time: at, sources: at === 0 ? [] : sources.map(cpid) }
  })
  writer.mergelogs('controller', changes)
  writer.mergelogs('kubectl', [{ new: cpid(2_000), time: 2_000 }])
  writer.pass(SETTLED)
  let at: TestWriter = writer
  let turns = 0
  for (let more = true; more; turns++) {
    const result = at.writer.prune(5)
    more = result.more
    expect(result.cpids).toBeLessThan(40)
    expect(inDegreesThatAreWrong(at)).toEqual([])
    if (result.removed > 0 && turns % 7 === 0) at = at.reopened()
  }
  expect(turns).toBeGreaterThan(20)
  expect(liveCpids(writer)).toEqual([2_000])
  expect(writer.rows('edges')).toBe(0)
  expect(writer.rows('outbox')).toBe(2)
})

/** CPIDs whose count of incoming edges is not that of their edges, or that went before what led to them. */
function inDegreesThatAreWrong({ db }: TestWriter): unknown[] {
  return db
    .prepare(
      `SELECT c.id FROM cpids c WHERE c.in_degree <> (SELECT count(*) FROM edges e JOIN cpids s ON s.id = e.source
         WHERE e.target = c.id AND s.state = 0)
       OR c.state = 1 AND EXISTS (SELECT 1 FROM edges WHERE source = c.id OR target = c.id)`,
    )
    .all()
}

test('a change with thousands of spans goes over many turns; what came meanwhile stays', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', [
    { new: cpid(1), time: 1 },
    { new: cpid(2), time: 2 },
  ])
  for (let round = 0; round < 12; round++) {
    const spans = Array.from({ length: 100 }, (_, at) => ({
      trace: round,
      id: 1 + round * 100 + at,
      cpid: cpid(1),
    }))
    writer.spans('controller', spans)
  }
  writer.pass(SETTLED)
  const first = writer.writer.prune(1)
  expect(first).toMatchObject({ cpids: 0, more: true })
  expect(first.spans).toBeGreaterThan(0)
  expect(first.spans).toBeLessThan(1_000)
  writer.spans('controller', [{ trace: 5_000, id: 1, cpid: cpid(1), name: 'meanwhile' }])
  pruneAll(writer, 1)
  const names = writer.db.prepare<[], string>('SELECT name FROM spans ORDER BY id').pluck().all()
  expect(names.at(-1)).toBe('meanwhile')
  expect(liveCpids(writer)).toContain(1)
  writer.mergelogs('kubectl', [{ new: cpid(3), time: 500_000 }])
  writer.pass(SETTLED)
  pruneAll(writer, 1)
  expect(liveCpids(writer)).toEqual([3])
  expect(writer.rows('spans')).toBe(0)
})

test('what was begun is finished when the limit is raised in between', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 1 }])
  const changes = Array.from({ length: 200 }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(1)] }))
  writer.mergelogs('controller', changes)
  writer.mergelogs('kubectl', [{ new: cpid(400), time: 400 }])
  writer.pass(SETTLED)
  while (liveCpids(writer).includes(1)) writer.writer.prune(1)
  expect(liveCpids(writer).length).toBeGreaterThan(50)
  using more = writer.reopened({ retention: { maxCpids: 1_000 } })
  pruneAll(more)
  expect(liveCpids(more)).toEqual([400])
})

test('hashes of requests and spans without a CPID go in steps', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR } })
  for (let id = 1; id <= 300; id++) writer.spans('kubelet', [{ trace: id, id }])
  writer.link()
  pruneAll(writer)
  writer.pass(2 * HOUR)
  writer.writer.prune(1)
  expect(writer.rows('requests')).toBeGreaterThan(0)
  for (let more = true; more;) {
    const result = writer.writer.prune(1)
    expect(result.spans).toBeLessThanOrEqual(100)
    more = result.more
  }
  expect([writer.rows('requests'), writer.rows('spans')]).toEqual([0, 0])
})

test('turns that have no time left when they begin to prune get on all the same', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs(
    'kubectl',
    Array.from({ length: 5 }, (_, at) => ({ new: cpid(at + 1), time: at })),
  )
  writer.pass(SETTLED)
  for (let turns = 0; turns < 60; turns++) writer.writer.prune(200, { mayGoOn: () => false })
  expect(liveCpids(writer)).toEqual([5])
})
