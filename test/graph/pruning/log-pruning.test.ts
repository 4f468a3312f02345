import { expect, test } from '@jest/globals'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

const ALPHA = cpid(0xa)
const HOUR_MS = 3_600_000

/** Keeps nothing older than an hour, and has an exporter of logs that stands at the beginning. */
async function withExporter(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { logs: true }, retention: { maxAgeMs: HOUR_MS } })
  writer.keepExporters('logs', ['otlp_grpc/loki'])
  writer.writer.prune(100)
  writer.logs('controller', [{ body: 'of no change' }, { body: 'of a change', cpid: ALPHA }])
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.pass(HOUR_MS / 2)
  writer.writer.prune(100)
  return writer
}

const countLogs = (writer: TestWriter): number => writer.rows('logs')

test('log records that some exporter has still to send stay; once it has sent them they go', async () => {
  using writer = await withExporter()
  writer.pass(2 * HOUR_MS)
  writer.writer.prune(100)
  writer.writer.prune(100)
  expect(countLogs(writer)).toBe(3)
  expect(writer.sentLogs()).toHaveLength(3)

  const { logs } = writer.writer.lastDecisions
  writer.exporterMoved('logs', 'otlp_grpc/loki', logs)
  expect(writer.sentLogs()).toEqual([])
  for (let round = 0; round < 3; round++) {
    writer.pass(1)
    writer.writer.prune(100)
  }
  expect(countLogs(writer)).toBe(0)
})

test('without an exporter of logs nothing is held back, decided or waiting', async () => {
  using writer = await withExporter()
  writer.logs('controller', [{ body: 'waits for its span', trace: 1, span: 2 }])
  writer.link()
  expect(writer.writer.gauges().waiting).toBe(1)
  writer.keepExporters('logs', [])
  expect(writer.sentLogs()).toEqual([])
  expect(writer.writer.gauges().waiting).toBe(0)
})

test('an exporter that was far behind and is configured no more leaves nothing, and no turn removes all that it held', async () => {
  using writer = await withExporter()
  const { logs } = writer.writer.lastDecisions
  const many = 50_000
  writer.db
    .prepare(
      `INSERT INTO log_outbox (decision, log, flags) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         SELECT ? - i, i, 0 FROM n`,
    )
    .run(many, logs - many)
  const before = writer.rows('log_outbox')
  writer.keepExporters('logs', ['otlp_grpc/other'], logs)
  const left = [before, writer.rows('log_outbox')]
  while (writer.writer.prune(100).more) left.push(writer.rows('log_outbox'))
  left.push(writer.rows('log_outbox'))
  expect(left.at(-1)).toBe(0)
  for (const [at, count] of left.slice(1).entries()) expect(left[at]! - count).toBeLessThan(before / 2)
})

test('metrics that every exporter has sent do not count as removed unsent, however many are left of an exporter that is gone', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR_MS } })
  writer.keepExporters('metrics', ['otlp_grpc/slow'])
  const parts = 500
  writer.db
    .prepare(
      `INSERT INTO metric_outbox (decision, arrived_ms, points, upto_bytes, request)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i, 0, 1, i, x'00' FROM n`,
    )
    .run(parts)
  writer.keepExporters('metrics', ['otlp_grpc/other'], parts)
  writer.pass(2 * HOUR_MS)
  let unsent = 0
  for (let isMore = true; isMore;) {
    const turn = writer.writer.prune(100, { isCalendarRight: true })
    unsent += turn.unsent
    isMore = turn.more
  }
  expect([writer.rows('metric_outbox'), unsent]).toEqual([0, 0])
})
