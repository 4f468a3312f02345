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
