import { expect, test } from '@jest/globals'
import { cpid, hexSpan, mergelogsRequest } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const BETA = cpid(0xb)
const GAMMA = cpid(0xc)
const REPLICASET = 'apps/v1/replicasets/default/web-1?uid=u'
const POD = 'v1/pods/default/web-1-x?uid=p'

interface Hop {
  labels: readonly string[]
  sum: number
  traces: string[]
  spans: string[]
}

function hopsOf(writer: TestWriter): Hop[] {
  return writer.writer.linking.takeFigures().hops.map(({ labels, sum, exemplars }) => {
    const told = exemplars.filter((exemplar) => exemplar !== undefined)
    return {
      labels,
      sum,
      traces: told.map(({ traceId }) => traceId),
      spans: told.map(({ spanId }) => spanId),
    }
  })
}

const write = (trace: number, id: number, object: string, end: number) => ({
  trace,
  id,
  cpid: ALPHA,
  start: end - 5,
  end,
  attributes: { 'cpid.wrote': [object] },
})
const observe = (trace: number, id: number, object: string, start: number) => ({
  trace,
  id,
  cpid: ALPHA,
  start,
  end: start + 5,
  attributes: { 'cpid.observed': [object] },
})

test('a hop lasts from the end of the write to the start of the first reconcile that observed it', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('replicaset-controller', [observe(2, 21, `${REPLICASET}&rv=7`, 250)])
  writer.spans('deployment-controller', [write(1, 11, `${REPLICASET}&rv=7`, 50)])
  writer.spans('scheduler', [observe(3, 31, `${POD}&rv=9`, 400)])
  writer.spans('replicaset-controller', [write(4, 41, `${POD}&rv=9`, 380)])
  writer.link()
  expect(hopsOf(writer)).toEqual([
    {
      labels: ['replicaset-controller', 'apps/v1/replicasets'],
      sum: 0.2,
      traces: [traceOf(ALPHA)],
      spans: [hexSpan(21)],
    },
    { labels: ['scheduler', 'v1/pods'], sum: 0.02, traces: [traceOf(ALPHA)], spans: [hexSpan(31)] },
  ])
})

test('a version that is looked at again is no hop; another service that sees it is', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('deployment-controller', [write(1, 11, `${REPLICASET}&rv=7`, 50)])
  writer.spans('replicaset-controller', [
    observe(2, 21, `${REPLICASET}&rv=7`, 150),
    observe(3, 31, `${REPLICASET}&rv=7`, 90_050),
  ])
  writer.spans('autoscaler', [observe(4, 41, `${REPLICASET}&rv=7`, 60)])
  writer.link()
  expect(hopsOf(writer).map(({ labels, sum }) => [labels[0], sum])).toEqual([
    ['replicaset-controller', 0.1],
    ['autoscaler', 0.01],
  ])
})

test('no hop where the version observed came from a write that is not known', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('deployment-controller', [write(1, 11, `${REPLICASET}&rv=7`, 50)])
  writer.spans('replicaset-controller', [observe(2, 21, `${REPLICASET}&rv=8`, 250)])
  writer.pass(10_000)
  const sent = writer.sent()
  expect(sent.find(({ spanId }) => spanId === hexSpan(21))?.parentSpanId).toBe(hexSpan(11))
  expect(hopsOf(writer)).toEqual([])
})

test('a span in several traces is one hop; clocks that differ make none negative', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }, { new: BETA }])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA, BETA] }])
  writer.spans('deployment-controller', [{ ...write(1, 11, `${REPLICASET}&rv=7`, 50), cpid: GAMMA }])
  writer.spans('replicaset-controller', [{ ...observe(2, 21, `${REPLICASET}&rv=7`, 40), cpid: GAMMA }])
  writer.link()
  expect(writer.sent().filter(({ spanId }) => spanId === hexSpan(21))).toHaveLength(2)
  expect(hopsOf(writer)).toEqual([
    {
      labels: ['replicaset-controller', 'apps/v1/replicasets'],
      sum: 0,
      traces: [traceOf(BETA)],
      spans: [hexSpan(21)],
    },
  ])
})

test('a cascade lasts from first to last activity, and is told of once it has settled', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA, time: 1_000 }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA, start: 3_000, end: 8_500 }])
  writer.link()
  expect(writer.writer.linking.takeFigures().durations).toEqual([])
  writer.pass(300_000)
  const [series] = writer.writer.linking.takeFigures().durations
  const cascade = writer.sent().find(({ name }) => name === 'cascade')
  expect(Number(series?.sum)).toBe(Number(cascade!.endNs - cascade!.startNs) / 1e9)
  expect(series?.exemplars.filter(Boolean)).toMatchObject([
    { traceId: traceOf(ALPHA), spanId: cascade?.spanId },
  ])
})

test('merges are counted as they are accepted, roots and repeats are not', async () => {
  using writer = await TestWriter.open()
  const request = (sources: string[], id: string): void => {
    merges += writer.writer.ingest([
      { signal: 'logs', bytes: mergelogsRequest('endpoints', [{ new: id, sources }]) },
    ]).counts.merges
  }
  let merges = 0
  request([], ALPHA)
  request([ALPHA], GAMMA)
  request([GAMMA], ALPHA)
  request([ALPHA], GAMMA)
  expect(merges).toBe(1)
})
