import { expect, test } from '@jest/globals'
import type { SenderPolicy } from '../../src/model/otlp-requests.ts'
import { exporterAt, pruneAll } from '../graph/pruning/stored.ts'
import { cpid, hexTrace, mergelogsRequest, type SpanSketch, spansRequest } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { ALL_GRANTS, TestWriter } from '../support/test-writer.ts'

const EVERYTHING: SenderPolicy = { rules: [], otherwise: ALL_GRANTS }
const CHANGE = cpid(7)
const MOST = 40

const opened = (senders?: SenderPolicy): Promise<TestWriter> =>
  TestWriter.open({ ...(senders && { senders }), linking: { maxTraceSpans: MOST } })

const send = (writer: TestWriter, cluster: string, trace: number, spans: Partial<SpanSketch>[]): void => {
  const sketches = spans.map((span, at) => ({ trace, id: trace * 1_000 + at, cpid: CHANGE, ...span }))
  expect(writer.ingest('traces', spansRequest(`of-${cluster}`, sketches, cluster))).toMatchObject({
    rejected: 0,
  })
  writer.link()
}
const many = (count: number, ballast = 0): Partial<SpanSketch>[] =>
  Array.from({ length: count }, () => ({ attributes: { ballast: 'x'.repeat(ballast) } }))

/** How many spans that a cluster sent are in each outgoing trace. */
function tracesOf(writer: TestWriter, cluster: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { traceId, service, name } of writer.sent()) {
    if (service === `of-${cluster}` && name.startsWith('span ')) counts[traceId] = (counts[traceId] ?? 0) + 1
  }
  return counts
}

const MAIN = traceOf(CHANGE)

test('spans of another cluster fill half of a trace at most; the others stay where they came from', async () => {
  using writer = await opened(EVERYTHING)
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], 'eu'))
  send(writer, 'us', 1, many(100))
  send(writer, 'eu', 2, many(15))
  expect(tracesOf(writer, 'us')).toEqual({ [MAIN]: MOST / 2, [hexTrace(1)]: 100 - MOST / 2 })
  expect(tracesOf(writer, 'eu')).toEqual({ [MAIN]: 15 })
  expect(writer.writer.linking.takeCounts().beyondShare).toBe(100 - MOST / 2)
})

test('what a guest sends again, and what it still sends after a restart, is counted with what it sent', async () => {
  using writer = await opened(EVERYTHING)
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], 'eu'))
  send(writer, 'us', 1, many(12))
  send(writer, 'us', 1, many(12))
  const again = writer.reopened()
  send(again, 'us', 3, many(12))
  expect(tracesOf(again, 'us')).toEqual({ [MAIN]: MOST / 2, [hexTrace(3)]: 4 })
})

test('a few large spans use the share up as well', async () => {
  using writer = await TestWriter.open({ senders: EVERYTHING, linking: { maxTraceBytes: 100_000 } })
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], 'eu'))
  send(writer, 'us', 1, many(5, 20_000))
  send(writer, 'eu', 2, many(1, 20_000))
  expect(tracesOf(writer, 'us')).toEqual({ [MAIN]: 2, [hexTrace(1)]: 3 })
  expect(tracesOf(writer, 'eu')).toEqual({ [MAIN]: 1 })
})

test('a change without a mergelog belongs to the cluster whose span carried it first', async () => {
  using writer = await opened(EVERYTHING)
  send(writer, 'eu', 1, many(1))
  writer.pass(10_001)
  send(writer, 'us', 2, many(100))
  send(writer, 'eu', 3, many(10))
  expect(tracesOf(writer, 'us')).toEqual({ [MAIN]: MOST / 2, [hexTrace(2)]: 100 - MOST / 2 })
  expect(tracesOf(writer, 'eu')).toEqual({ [MAIN]: 11 })
})

test('where everybody may send everything, traces are divided as they fill', async () => {
  using writer = await opened()
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], 'eu'))
  send(writer, 'us', 1, many(100))
  expect(tracesOf(writer, 'us')[hexTrace(1)]).toBeUndefined()
  expect(Object.values(tracesOf(writer, 'us')).reduce((sum, count) => sum + count, 0)).toBe(100)
})

test('what stayed where it came from is kept until it is sent, and goes with its change', async () => {
  using writer = await TestWriter.open({
    senders: EVERYTHING,
    linking: { maxTraceSpans: MOST },
    retention: { maxCpids: 1 },
  })
  exporterAt(writer, 0)
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: CHANGE }], 'eu'))
  send(writer, 'us', 1, many(100))
  writer.ingest('logs', mergelogsRequest('kubectl', [{ new: cpid(8) }], 'eu'))
  writer.pass(600_001)
  expect(pruneAll(writer)).toBe(0)
  exporterAt(writer)
  expect(pruneAll(writer)).toBe(1)
  expect(writer.rows('spans')).toBe(0)
  expect(tracesOf(writer, 'us')).toEqual({})
})
