import { expect, test } from '@jest/globals'
import { cpid, type SpanSketch } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { exporterAt, liveCpids, pruneAll } from '../pruning/stored.ts'
import { HOUR_MS, type LifeSettings, type LifeStep } from './life.ts'
import { live } from './world.ts'

const SETTINGS: LifeSettings = {
  mode: 'cascade',
  logs: false,
  maxFanout: 8,
  maxTraceSpans: 10_000,
  maxCpids: 0,
  maxAgeMs: 0,
  bytesAbove: 0,
  exporters: ['a'],
}

const span = (sketch: SpanSketch): LifeStep => ({ kind: 'span', span: sketch })
const root = (at: number, time: 'now' | 'none' = 'now'): LifeStep => ({
  kind: 'mergelog',
  at,
  sources: [],
  object: false,
  time,
})
const pass = (ms: number): LifeStep => ({ kind: 'pass', ms, works: true })
const sent = (exporter = 0): LifeStep => ({ kind: 'export', exporter, most: 1_000, saves: true })
const PRUNE: LifeStep = { kind: 'prune', budget: 1_000, turns: 100 }
const SETTLES = 301_000

interface Example {
  what: string
  settings?: Partial<LifeSettings>
  steps: LifeStep[]
  endsAnew?: boolean
}

const EXAMPLES: Example[] = [
  {
    what: 'a parent of another CPID stays while the trace is open that its child brought it into',
    settings: { maxCpids: 1 },
    steps: [
      root(1),
      root(2),
      span({ trace: 1, id: 101, parent: 102, cpid: cpid(1) }),
      pass(0),
      span({ trace: 1, id: 102, cpid: cpid(2) }),
      pass(160_000),
      span({ trace: 1, id: 103, cpid: cpid(1) }),
      pass(160_000),
      sent(),
      PRUNE,
    ],
  },
  {
    what: 'what was sent on in place counts as lately as its newest span, whatever else came in its original traces',
    settings: { mode: 'passthrough', maxAgeMs: HOUR_MS },
    endsAnew: true,
    steps: [
      span({ trace: 1, id: 102, parent: 104, cpid: cpid(4) }),
      pass(160_000),
      pass(160_000),
      span({ trace: 2, id: 203, parent: 201, cpid: cpid(4) }),
      pass(11_000),
      pass(SETTLES),
      pass(SETTLES),
      { kind: 'restart', exporters: ['a'], mode: 'cascade' },
      span({ trace: 1, id: 104, cpid: cpid(3) }),
      pass(11_000),
      pass(11_000),
      pass(SETTLES),
    ],
  },
  {
    what: 'a parent without a CPID stays as long as the trace that its child brought it into',
    settings: { maxAgeMs: HOUR_MS },
    steps: [
      root(1),
      span({ trace: 1, id: 101, parent: 102, cpid: cpid(1) }),
      pass(0),
      span({ trace: 1, id: 102 }),
      pass(1_000),
      PRUNE,
      pass(HOUR_MS - 2_000),
      span({ trace: 1, id: 103, cpid: cpid(1) }),
      pass(2_000),
      sent(),
      PRUNE,
    ],
  },
  {
    what: 'a log record that waits to be sent keeps the tombstone of the CPID it took from its span',
    settings: { logs: true, maxCpids: 1 },
    steps: [
      span({ trace: 1, id: 101, cpid: cpid(1) }),
      { kind: 'log', log: { body: 'waits', trace: 1, span: 101 } },
      pass(11_000),
      span({ trace: 2, id: 201, cpid: cpid(2) }),
      span({ trace: 3, id: 301, cpid: cpid(4) }),
      pass(11_000),
      pass(SETTLES),
      sent(),
      PRUNE,
    ],
  },
]

test.each(EXAMPLES)('$what', async ({ settings, steps, endsAnew = false }) => {
  await live({ settings: { ...SETTINGS, ...settings }, steps, endsAnew })
})

test('a parent without a CPID goes with the last of the traces that its children brought it into', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 1 }])
  writer.mergelogs('kubectl', [{ new: cpid(2), time: 2 }])
  writer.spans('controller', [
    { trace: 1, id: 11, parent: 10, cpid: cpid(1) },
    { trace: 1, id: 12, parent: 10, cpid: cpid(2) },
  ])
  writer.link()
  writer.spans('kubelet', [{ trace: 1, id: 10 }])
  writer.pass(SETTLES)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([2])
  expect(writer.rows('spans')).toBe(2)
  writer.mergelogs('kubectl', [{ new: cpid(3), time: SETTLES }])
  writer.pass(SETTLES)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([3])
  expect(['spans', 'origin_traces', 'traces'].map((table) => writer.rows(table))).toEqual([0, 0, 1])
})

/** Two changes and a span without a CPID, of which force takes the change decided last. */
async function lastTakenByForce(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.clock.advance(10)
  exporterAt(writer, 0)
  writer.spans('kubelet', [{ trace: 3, id: 31 }])
  writer.mergelogs('kubectl', [{ new: cpid(2), time: 2 }])
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 1 }])
  const payload = 'x'.repeat(100_000)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1), attributes: { payload } }])
  writer.pass(SETTLES)
  const maxBytes = writer.writer.gauges().usedBytes - 50_000
  const less = writer.reopened({ linking: { mode: 'links' }, retention: { maxBytes, maxAgeMs: HOUR_MS } })
  pruneAll(less)
  return less
}

test('an exporter that got as far as force left anything to send holds nothing', async () => {
  using writer = await lastTakenByForce()
  expect(liveCpids(writer)).toEqual([2])
  const last = writer.db.prepare<[], number>('SELECT max(decision) FROM outbox').pluck().get() ?? 0
  expect(last).toBeLessThan(writer.writer.progress.lastDecision)
  exporterAt(writer, last)
  writer.pass(2 * HOUR_MS)
  pruneAll(writer)
  expect(['cpids WHERE state = 0', 'spans', 'outbox'].map((from) => writer.rows(from))).toEqual([0, 0, 0])
})
