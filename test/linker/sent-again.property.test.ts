import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { cpid, logsRequest, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { sentLogs } from '../support/sent-logs.ts'
import { sentSpans } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

type Signal = 'traces' | 'logs'

/** One span, log record or mergelog in a request of its own; requests put behind each other are one request. */
interface Item {
  signal: Signal
  bytes: Buffer
}

interface Step {
  item: Item
  /** Which of the items so far come again, before it and after it, in the same request or in others. */
  before: number[]
  after: number[]
  inOneRequest: boolean
  passesMs: number
}

const CPIDS = 4
const podAt = (version: number): string => `v1/pods/default/web?rv=${version}`
const someCpid = fc.option(fc.integer({ min: 1, max: CPIDS }), { nil: undefined, freq: 3 })

const span = fc
  .record({
    trace: fc.integer({ min: 1, max: 2 }),
    parent: fc.option(fc.nat(8), { nil: undefined }),
    carried: someCpid,
    observed: fc.array(fc.nat(4), { maxLength: 2 }),
    wrote: fc.array(fc.nat(4), { maxLength: 2 }),
    service: fc.constantFrom('a', 'b'),
  })
  .map(({ trace, parent, carried, observed, wrote, service }) => (id: number) => ({
    signal: 'traces' as const,
    bytes: spansRequest(service, [
      {
        trace,
        id,
        ...(parent !== undefined && { parent: parent + 1 }),
        ...(carried !== undefined && { cpid: cpid(carried) }),
        attributes: { 'cpid.observed': observed.map(podAt), 'cpid.wrote': wrote.map(podAt) },
      },
    ]),
  }))

const mergelog = fc
  .record({
    at: fc.integer({ min: 1, max: CPIDS }),
    sources: fc.uniqueArray(fc.nat(CPIDS), { maxLength: 2 }),
  })
  .map(({ at, sources }) => (id: number) => ({
    signal: 'logs' as const,
    bytes: mergelogsRequest('merger', [
      { new: cpid(at), sources: sources.filter((source) => source > 0 && source < at).map(cpid), time: id },
    ]),
  }))

const log = fc
  .record({
    trace: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
    span: fc.nat(8),
    carried: someCpid,
    service: fc.constantFrom('a', 'b'),
  })
  .map(({ trace, span: spanId, carried, service }) => (id: number) => ({
    signal: 'logs' as const,
    bytes: logsRequest(service, [
      {
        body: `log ${id}`,
        ...(trace !== undefined && { trace, span: spanId + 1 }),
        ...(carried !== undefined && { cpid: cpid(carried) }),
      },
    ]),
  }))

const steps: fc.Arbitrary<Step[]> = fc
  .array(
    fc.record({
      make: fc.oneof({ weight: 4, arbitrary: span }, { weight: 2, arbitrary: log }, mergelog),
      before: fc.array(fc.nat(30), { maxLength: 2 }),
      after: fc.array(fc.nat(30), { maxLength: 2 }),
      inOneRequest: fc.boolean(),
      passesMs: fc.constantFrom(0, 0, 0, 4_000, 11_000, 301_000),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((drawn) => drawn.map(({ make, ...rest }, at) => ({ ...rest, item: make(at + 1) })))

/** What is stored, shown and sent. */
function facts(db: Sqlite): unknown {
  const rows = (view: string): string[] =>
    db
      .prepare<[], Record<string, unknown>>(`SELECT * FROM ${view}`)
      .all()
      .map((row) => JSON.stringify({ ...row, arrival: undefined }))
      .sort()
  return {
    spans: rows('audit_spans'),
    logs: rows('audit_logs'),
    objects: rows('audit_object_events'),
    cascades: rows('audit_cascades'),
    cascadeSpans: rows('audit_cascade_spans'),
    sentSpans: sentSpans(db),
    sentLogs: sentLogs(db),
  }
}

const shownTwice = (db: Sqlite): unknown[] => [
  ...db.prepare('SELECT 1 FROM audit_spans GROUP BY trace_id, span_id HAVING count(*) > 1').all(),
  ...db.prepare('SELECT 1 FROM (SELECT raw, scope FROM logs) GROUP BY raw, scope HAVING count(*) > 1').all(),
]

test.each(['cascade', 'links', 'passthrough'] as const)(
  '%s: what is sent again, batched otherwise, is linked, sent and shown once',
  async (mode) => {
    const linking = { mode, logs: true }
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        using once = await TestWriter.open({ linking })
        using again = await TestWriter.open({ linking })
        const sent: Item[] = []
        for (const step of drawn) {
          const { item, inOneRequest, passesMs } = step
          once.ingest(item.signal, item.bytes)
          const pick = (numbers: readonly number[]): Item[] =>
            numbers.flatMap((number) => sent[number % Math.max(1, sent.length)] ?? [])
          const [before, after] = [pick(step.before), [...pick(step.after), item]]
          for (const signal of ['traces', 'logs'] as const) {
            const mine = [...before, item, ...after].filter((one) => one.signal === signal)
            const parts = mine.map(({ bytes }) => bytes)
            for (const bytes of inOneRequest ? [Buffer.concat(parts)] : parts) again.ingest(signal, bytes)
          }
          sent.push(item)
          expect(
            again.db
              .prepare('SELECT 1 FROM audit_spans GROUP BY trace_id, span_id HAVING count(*) > 1')
              .all(),
          ).toEqual([])
          for (const writer of [once, again]) writer.pass(passesMs)
        }
        for (const writer of [once, again]) writer.pass(400_000)
        expect(facts(again.db)).toEqual(facts(once.db))
        expect(shownTwice(again.db)).toEqual([])
      }),
      { numRuns: 15 },
    )
  },
)

test('a cascade counts each span that it drives once, whichever of its traces have it, and what is driven only in a later one', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      using writer = await TestWriter.open()
      for (const { item, passesMs } of drawn) {
        writer.ingest(item.signal, item.bytes)
        writer.pass(passesMs)
      }
      writer.pass(400_000)
      const counted = writer.db
        .prepare('SELECT root, sum(spans) FROM audit_cascades GROUP BY root ORDER BY root')
        .raw()
        .all()
      const there = writer.db
        .prepare(
          `SELECT root, (SELECT count(DISTINCT span_id) FROM audit_cascade_spans span
             WHERE span.root = cascade.root AND activity = 'yes')
           FROM audit_cascades cascade GROUP BY root ORDER BY root`,
        )
        .raw()
        .all()
      expect(counted).toEqual(there)
    }),
    { numRuns: 150 },
  )
})
