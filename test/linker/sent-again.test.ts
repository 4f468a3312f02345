import { expect, test } from '@jest/globals'
import { cpid, hexSpan, hexTrace, logsRequest, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)

const names = (writer: TestWriter): unknown[] =>
  writer.db.prepare('SELECT name FROM audit_spans ORDER BY arrival').pluck().all()

test('a span that comes again in another request is stored, sent and counted once, with a CPID or without', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  const spans = [
    { trace: 1, id: 11, cpid: ALPHA },
    { trace: 2, id: 21 },
  ]
  writer.spans('controller', spans)
  writer.link()
  for (const span of spans) writer.spans('controller', [span])
  writer.spans('controller', [...spans].reverse())
  writer.link()
  expect(writer.rows('spans')).toBe(2)
  const sent = writer.sent().map(({ spanId }) => spanId)
  for (const { id } of spans) expect(sent.filter((spanId) => spanId === hexSpan(id))).toHaveLength(1)
  expect(writer.writer.linking.takeCounts()).toMatchObject({ duplicateSpans: 4, unattributed: 1 })
})

test('one that is there twice in a request, and one that comes while the first waits, counts once', async () => {
  using writer = await TestWriter.open()
  const waiting = { trace: 1, id: 11, cpid: ALPHA }
  const orphan = { trace: 2, id: 22, parent: 21 }
  writer.ingest('traces', Buffer.concat([waiting, waiting, orphan].map((span) => spansRequest('a', [span]))))
  writer.link()
  expect(writer.sent()).toEqual([])
  writer.spans('a', [waiting, orphan])
  writer.link()
  expect(writer.rows('waiting')).toBe(2)
  writer.pass(10_000)
  const sent = writer.sent().filter(({ service }) => service === 'a')
  expect(sent.map(({ spanId }) => spanId).sort()).toEqual([hexSpan(11), hexSpan(22)])
  expect(writer.writer.linking.takeCounts()).toMatchObject({ duplicateSpans: 3 })
})

test('what only a repeated span names is not forgotten with it, nor counted twice', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  const wrote = (object: string): Record<string, unknown> => ({ 'cpid.wrote': [object] })
  const first = { trace: 1, id: 11, cpid: ALPHA, name: 'first', attributes: wrote('v1/pods/ns/a?rv=1') }
  writer.spans('a', [first])
  writer.spans('a', [first, { trace: 2, id: 21 }])
  const events = (): unknown =>
    writer.db.prepare('SELECT object, span FROM audit_object_events ORDER BY arrival').raw().all()
  expect([names(writer), events()]).toEqual([['first', 'span 21'], [['v1/pods/ns/a', 'first']]])
  writer.link()
  expect([names(writer), events()]).toEqual([['first', 'span 21'], [['v1/pods/ns/a', 'first']]])
})

test.each([true, false])(
  'a log record that comes again is kept and sent once (sent on: %s)',
  async (logs) => {
    using writer = await TestWriter.open({ linking: { logs } })
    const records = [1, 2, 3].map((time) => ({ body: 'tick', time }))
    writer.logs('a', records)
    writer.logs('a', records.slice(1))
    const audit = 'SELECT service, time FROM audit_logs'
    expect(writer.db.prepare(audit).all()).toHaveLength(3)
    writer.logs('b', records.slice(0, 2))
    writer.logs('a', [{ body: 'tock', time: 1 }])
    writer.link()
    writer.ingest('logs', Buffer.concat([logsRequest('a', records.slice(2)), logsRequest('b', records)]))
    writer.link()
    expect(writer.db.prepare('SELECT service, count(*) FROM audit_logs GROUP BY 1').raw().all()).toEqual([
      ['a', 4],
      ['b', 3],
    ])
    expect(writer.rows('logs')).toBe(7)
    expect(writer.sentLogs()).toHaveLength(logs ? 7 : 0)
    expect(writer.writer.linking.takeCounts()).toMatchObject({ duplicateLogs: 5 })
  },
)

test('log records that give no time are each kept: two alike may both have happened', async () => {
  using writer = await TestWriter.open({ linking: { logs: true } })
  const untimed = { body: 'tick', time: -Date.UTC(2026, 0, 1) }
  writer.logs('a', [untimed, untimed])
  writer.link()
  expect(writer.sentLogs()).toHaveLength(2)
})

test('many log records of one time are told apart', async () => {
  using writer = await TestWriter.open()
  const records = Array.from({ length: 200 }, (_, at) => ({ body: `line ${at}` }))
  writer.logs('a', records)
  writer.logs('a', [...records].reverse())
  writer.link()
  expect(writer.rows('logs')).toBe(200)
})

test('what is gone when it comes again is new again', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 3_600_000 } })
  writer.spans('a', [{ trace: 1, id: 11 }])
  writer.logs('a', [{ body: 'tick' }])
  writer.link()
  writer.writer.prune(1_000)
  writer.clock.advance(7_200_000)
  writer.writer.prune(1_000, { isCalendarRight: true })
  expect([writer.rows('spans'), writer.rows('logs')]).toEqual([0, 0])
  writer.spans('a', [
    { trace: 1, id: 11 },
    { trace: 1, id: 12 },
  ])
  writer.logs('a', [{ body: 'tick' }, { body: 'tock' }])
  writer.link()
  expect(writer.db.prepare('SELECT trace_id, span_id FROM audit_spans').raw().all()).toEqual([
    [hexTrace(1), hexSpan(11)],
    [hexTrace(1), hexSpan(12)],
  ])
  expect(writer.rows('logs')).toBe(2)
})
