import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { sortedByPrefix } from '../../src/store/sqlite/trace-id-index.ts'
import { cpid, scattered, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const HOUR_MS = 3_600_000
const SETTINGS = { traceIndex: { batch: 4 }, retention: { maxAgeMs: HOUR_MS } }
const request = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 })
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('store' as const), traces: request }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom('fail' as const, 'fail late' as const, 'store beside' as const),
        traces: request,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constantFrom('restart' as const, 'restart and hear of a merge' as const, 'prune' as const),
      }),
    },
  ),
  { maxLength: 40 },
)

/** A commit fails for what it stores, or when all of it is done. */
const FAULTS = `CREATE TEMP TABLE faults (now);
  CREATE TEMP TRIGGER poison BEFORE INSERT ON spans WHEN NEW.name = 'poison' BEGIN SELECT RAISE(ABORT, 'poison'); END;
  CREATE TEMP TRIGGER late BEFORE UPDATE ON progress WHEN EXISTS (SELECT 1 FROM faults)
    BEGIN SELECT RAISE(ABORT, 'late'); END`

const numbers = (db: Sqlite, sql: string): number[] => db.prepare<[], number>(sql).pluck().all()

/** What is wrong with the traces, their index and the spans that refer to them. */
function faultsIn(db: Sqlite): Record<string, number[]> {
  return {
    'two numbers for a trace': numbers(
      db,
      'SELECT min(id) FROM origin_traces GROUP BY trace_id HAVING count(*) > 1',
    ),
    'a span under another trace': numbers(
      db,
      `SELECT s.id FROM spans s LEFT JOIN origin_traces o ON o.id = s.origin
       WHERE o.trace_id IS NULL OR o.trace_id <> substr(s.raw, 3, 16)`,
    ),
    'a trace without spans': numbers(
      db,
      'SELECT id FROM origin_traces WHERE id NOT IN (SELECT origin FROM spans)',
    ),
    'indexed, but not there': numbers(
      db,
      'SELECT origin FROM origin_trace_index WHERE (origin, trace_id) NOT IN (SELECT id, trace_id FROM origin_traces)',
    ),
    'said to be indexed': numbers(
      db,
      `SELECT id FROM origin_traces WHERE id <= (SELECT indexed_origins FROM progress)
       AND trace_id NOT IN (SELECT trace_id FROM origin_trace_index)`,
    ),
  }
}

const NO_FAULTS = {
  'two numbers for a trace': [],
  'a span under another trace': [],
  'a trace without spans': [],
  'indexed, but not there': [],
  'said to be indexed': [],
}

test('a trace has one number, whatever fails, is pruned, stored beside or started again in between', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      const folder = mkdtempSync(join(tmpdir(), 'causeway-trace-index-'))
      const path = join(folder, 'causeway.db')
      let writer = await TestWriter.open(SETTINGS, path)
      const beside = await TestWriter.open(SETTINGS, path, writer.clock)
      try {
        writer.db.exec(FAULTS)
        let spans = 0
        for (const step of drawn) {
          if (step.do === 'restart' || step.do === 'restart and hear of a merge') {
            writer = writer.reopened()
            if (step.do !== 'restart') writer.mergelogs('ctl', [{ new: cpid(1) }])
          } else if (!('traces' in step)) {
            writer.pass(2 * HOUR_MS)
            writer.writer.prune(1_000, { isCalendarRight: true })
            spans = numbers(writer.db, 'SELECT count(*) FROM spans')[0] ?? -1
          } else {
            const fails = step.do.startsWith('fail')
            const sketches = step.traces.map((trace, at) => ({ trace: scattered(trace), id: spans + at + 1 }))
            const poison = step.do === 'fail' ? [{ trace: 31, id: 999, name: 'poison' }] : []
            if (step.do === 'fail late') writer.db.exec('INSERT INTO faults VALUES (1)')
            const by = step.do === 'store beside' ? beside : writer
            const { kind } = by.ingest('traces', spansRequest('ctl', [...sketches, ...poison]))
            writer.db.exec('DELETE FROM faults')
            expect(kind).toBe(fails ? 'failed' : 'accepted')
            if (!fails) spans += step.traces.length
          }
          expect(faultsIn(writer.db)).toEqual(NO_FAULTS)
          expect(numbers(writer.db, 'SELECT count(*) FROM spans')).toEqual([spans])
        }
      } finally {
        beside.db.close()
        writer.db.close()
        rmSync(folder, { recursive: true })
      }
    }),
    { numRuns: 60 },
  )
})

test('what gets into the index while the index is being read is found again', async () => {
  using before = await TestWriter.open({ traceIndex: { batch: 1 } })
  for (const trace of [10, 20, 30, 40, 50, 60]) before.spans('ctl', [{ trace, id: trace }])
  const writer = before.reopened({ traceIndex: { batch: 1, readAtStart: 1, readAtOnce: 1 } })
  for (const trace of [1, 2, 3, 4, 5, 6, 7, 8]) writer.spans('ctl', [{ trace, id: trace }])
  for (const trace of [1, 2, 3, 4, 5, 6, 7, 8]) writer.spans('ctl', [{ trace, id: 100 + trace }])
  expect(faultsIn(writer.db)).toEqual(NO_FAULTS)
})

test('what another writer put into the index is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-trace-index-'))
  const path = join(folder, 'causeway.db')
  using writer = await TestWriter.open({ traceIndex: { batch: 1 } }, path)
  using beside = await TestWriter.open({ traceIndex: { batch: 1 } }, path)
  writer.spans('ctl', [{ trace: 9, id: 9 }])
  for (const trace of [1, 2, 3, 4]) beside.spans('ctl', [{ trace, id: trace }])
  for (const trace of [1, 2, 3, 4]) writer.spans('ctl', [{ trace, id: 100 + trace }])
  expect(faultsIn(writer.db)).toEqual(NO_FAULTS)
  rmSync(folder, { recursive: true })
})

test('all but a batch of the trace ids get into the index, and a batch at most into memory', async () => {
  using writer = await TestWriter.open({ traceIndex: { batch: 10 } })
  for (let trace = 1; trace <= 100; trace++) writer.spans('ctl', [{ trace, id: trace }])
  const left = numbers(
    writer.db,
    'SELECT count(*) FROM origin_traces WHERE trace_id NOT IN (SELECT trace_id FROM origin_trace_index)',
  )
  expect(left).toEqual([10])
})

test('after a restart no id goes into the index that is there', async () => {
  using writer = await TestWriter.open({ traceIndex: { batch: 10 } })
  const store = (by: TestWriter, from: number, to: number): void => {
    for (let id = from; id <= to; id++) by.spans('ctl', [{ trace: scattered(id), id }])
  }
  store(writer, 1, 25)
  writer.db.exec(`CREATE TEMP TABLE again (trace_id);
    CREATE TEMP TRIGGER again BEFORE INSERT ON origin_trace_index
      WHEN EXISTS (SELECT 1 FROM origin_trace_index WHERE trace_id = NEW.trace_id)
      BEGIN INSERT INTO again VALUES (NEW.trace_id); END`)
  store(writer.reopened(), 26, 65)
  expect(numbers(writer.db, 'SELECT count(*) FROM again')).toEqual([0])
  expect(numbers(writer.db, 'SELECT count(*) FROM origin_trace_index')).toEqual([55])
  expect(faultsIn(writer.db)).toEqual(NO_FAULTS)
})

test('ids go into the index in its order, so that neighbours share a page', () => {
  const ids = fc.uniqueArray(fc.uint8Array({ minLength: 16, maxLength: 16 }), {
    selector: String,
    maxLength: 200,
  })
  fc.assert(
    fc.property(ids, (drawn) => {
      const keys = drawn.map((id) => Buffer.from(id).toString('latin1'))
      const prefixes = sortedByPrefix(keys).map((key) => key.slice(0, 4))
      expect(prefixes).toEqual(keys.map((key) => key.slice(0, 4)).sort())
      expect(new Set(sortedByPrefix(keys))).toEqual(new Set(keys))
    }),
  )
})
