import { expect, test } from '@jest/globals'
import { SqliteSenderFacts } from '../../src/store/sqlite/setup-facts.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id } from './asking.ts'

const HOUR_MS = 3_600_000

/** CPID 1, a root, and CPID 2, which merged it, were pruned two hours after they had settled. */
async function pruned(): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention: { maxAgeMs: HOUR_MS } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)], time: 1 }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  writer.pass(301_000)
  writer.clock.advance(2 * HOUR_MS)
  expect(writer.writer.prune(1_000, { isCalendarRight: true })).toMatchObject({ cpids: 2 })
  return writer
}

const auditOf = (writer: TestWriter, number: number): unknown =>
  writer.db.prepare('SELECT state, kind, explained FROM audit_cpids WHERE cpid = ?').get(cpid(number))

test('a pruned CPID that a span names again is known again, not explained, and accuses nobody', async () => {
  using writer = await pruned()
  const sentBefore = writer.sent().length
  expect(ask(writer, { kind: 'cpid', cpid: id(1) })).toBe('pruned')
  writer.spans('controller', [{ trace: 2, id: 21, cpid: cpid(1) }])
  writer.link()
  expect(ask(writer, { kind: 'cpid', cpid: id(1) })).toMatchObject({ timestamp: null, explained: false })
  expect(auditOf(writer, 1)).toEqual({ state: 'live', kind: 'unknown', explained: 'no' })
  expect(ask(writer, { kind: 'graph', cpid: id(1), limit: 10 })).toMatchObject({
    nodes: [{ explained: false }],
  })
  // It waited for nothing, and went into an episode of the trace that had settled.
  const sent = writer.sent().slice(sentBefore)
  expect(sent.map(({ spanId }) => spanId)).toContain(hexSpan(21))
  expect(sent.map(({ traceId }) => traceId)).not.toContain(traceOf(cpid(1)))
  expect(sent.find(({ name }) => name === 'episode')?.attributes).toMatchObject({ 'cpid.episode': 1 })
  writer.pass(301_000)
  expect(ask(writer, { kind: 'cascade', root: id(1) })).toMatchObject({ missing: 0, missingCpids: [] })
  expect(writer.sent().find(({ name }) => name === 'cascade')?.attributes).toMatchObject({
    'cpid.cascade.missing': 0,
  })
  const senders = new SqliteSenderFacts(writer.db).senders(writer.clock.wallMs())
  expect(senders).toMatchObject([{ service: 'controller', missing: 0 }])
})

test('its mergelog explains it once more', async () => {
  using writer = await pruned()
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 5 }])
  expect(ask(writer, { kind: 'cpid', cpid: id(1) })).toMatchObject({ explained: true })
  expect(auditOf(writer, 1)).toEqual({ state: 'live', kind: 'root', explained: 'yes' })
})

test('a mergelog that comes again is explained once those of its sources are', async () => {
  using writer = await pruned()
  writer.mergelogs('kubectl', [{ new: cpid(2), sources: [cpid(9)], time: 5 }])
  expect(ask(writer, { kind: 'cpid', cpid: id(2) })).toMatchObject({ explained: false })
  expect(auditOf(writer, 2)).toEqual({ state: 'live', kind: 'merge', explained: 'no' })
  writer.mergelogs('kubectl', [{ new: cpid(9), time: 6 }])
  expect(ask(writer, { kind: 'cpid', cpid: id(2) })).toMatchObject({ explained: true })
})

test('what merges it is explained: it counts as settled, not as missing', async () => {
  using writer = await pruned()
  writer.spans('controller', [{ trace: 2, id: 21, cpid: cpid(1) }])
  writer.mergelogs('kubectl', [{ new: cpid(3), sources: [cpid(1), cpid(2)], time: 5 }])
  expect(ask(writer, { kind: 'cpid', cpid: id(3) })).toMatchObject({ explained: true })
})
