import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { hexSpan, hexTrace, nanosAfter, START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

interface Sketch {
  service: string
  name: string
  /** When it starts, and for how long it lasts, in milliseconds. */
  at: number
  takes: number
  kind?: number
  isError?: boolean
}

const SERVER = 2
/** Of each service a hundred spans in 100 s: each second one, the n-th of n milliseconds; those of `shop` by turns of two names. */
const SPANS: Sketch[] = Array.from({ length: 100 }, (_, n) => [
  { service: 'shop', name: n % 2 === 0 ? 'buy' : 'look', at: n * 1000, takes: n + 1, isError: n % 4 === 0 },
  { service: 'store', name: 'put', at: n * 1000, takes: n + 1 },
  { service: 'shop', name: 'inside', at: n * 1000, takes: 5_000, kind: 1 },
]).flat()

async function filled(path: string): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  const resourceSpans = SPANS.map(({ service, name, at, takes, kind = SERVER, isError = false }, n) => ({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
    scopeSpans: [
      {
        spans: [
          {
            ...{ traceId: hexTrace(n + 1), spanId: hexSpan(n + 1), name, kind },
            ...{ startTimeUnixNano: nanosAfter(at), endTimeUnixNano: nanosAfter(at + takes) },
            status: { code: isError ? 2 : 0 },
          },
        ],
      },
    ],
  }))
  writer.ingest(
    'traces',
    Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify({ resourceSpans })))),
  )
  writer.pass(1_000_000)
  return writer
}

interface Family {
  name: string
  type: string
  help: string
  metrics: {
    labels: { name: string; value: string }[]
    metricPoints: { timestamp: string; gaugeValue: { doubleValue: number } }[]
  }[]
}

const MS = Number(START_NS / 1_000_000n)
let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(filled, { wallMs: () => MS + 100_000 })
})
afterAll(() => api[Symbol.asyncDispose]())

async function family(what: string, parameters = ''): Promise<Family> {
  const answer = await api.fetch(`/jaeger/api/metrics/${what}${parameters}`)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Family
}

/** The values of each series by what its labels say, with the second of each. */
const values = ({ metrics }: Family): Record<string, [second: number, value: number][]> =>
  Object.fromEntries(
    metrics.map(({ labels, metricPoints }) => [
      labels.map(({ value }) => value).join(' '),
      metricPoints.map(({ timestamp, gaugeValue }) => [
        (Date.parse(timestamp) - MS) / 1000,
        gaugeValue.doubleValue,
      ]),
    ]),
  )

const RANGE = `endTs=${MS + 100_000}&lookback=100000&step=50000&ratePer=50000`

test('rates are of the spans that started in the time before each value', async () => {
  const calls = await family('calls', `?service=shop&service=store&${RANGE}`)
  expect({ name: calls.name, type: calls.type }).toEqual({ name: 'service_call_rate', type: 'GAUGE' })
  const each: [number, number][] = [
    [0, 1 / 50],
    [50, 1],
    [100, 49 / 50],
  ]
  expect(values(calls)).toEqual({ shop: each, store: each })
  expect(values(await family('calls', `?service=shop&spanKind=internal&${RANGE}`))).toEqual({ shop: each })
  expect(values(await family('calls', `?service=shop&spanKind=internal&spanKind=server&${RANGE}`))).toEqual({
    shop: each.map(([second, value]) => [second, 2 * value]),
  })
  expect(await family('calls', `?service=nobody&${RANGE}`)).toMatchObject({ metrics: [] })
})

test('errors are a part of the calls, by operation where that is asked', async () => {
  expect(values(await family('errors', `?service=shop&${RANGE}&groupByOperation=true`))).toEqual({
    'buy shop': [
      [0, 1],
      [50, 12 / 25],
      [100, 12 / 24],
    ],
    'look shop': [
      [50, 0],
      [100, 0],
    ],
  })
  const errors = await family('errors', `?service=store&groupByOperation=true&${RANGE}`)
  expect(errors.name).toBe('service_operation_error_rate')
  expect(errors.metrics[0]?.labels).toEqual([
    { name: 'operation', value: 'put' },
    { name: 'service_name', value: 'store' },
  ])
})

test('latencies are quantiles in milliseconds, within a percent', async () => {
  for (const [quantile, wanted] of [
    [0.5, [1, 26, 76]],
    [0.95, [1, 49, 98]],
  ] as const) {
    const points =
      values(await family('latencies', `?service=store&quantile=${quantile}&${RANGE}`))['store'] ?? []
    expect(points.map(([second]) => second)).toEqual([0, 50, 100])
    for (const [at, [, value]] of points.entries()) {
      const off = Math.abs(value / (wanted[at] ?? 0) - 1)
      expect(off).toBeLessThan(0.03)
    }
  }
})

test('without times it is the last hour until now', async () => {
  const points = values(await family('calls', '?service=store'))['store'] ?? []
  expect(points).toHaveLength(721)
  expect(points.at(-1)).toEqual([100, 100 / 600])
  expect(points.at(0)?.[1]).toBe(0)
})

test('the shortest step is a millisecond', async () => {
  expect(await family('minstep')).toEqual({ data: 1, total: 0, limit: 0, offset: 0, errors: null })
})

test.each([
  'calls',
  'latencies?service=a',
  'latencies?service=a&quantile=2',
  'latencies?service=a&quantile=x',
  'calls?service=a&quantile=0.5',
  'calls?service=a&spanKind=odd',
  'calls?service=a&step=0',
  'calls?service=a&lookback=999999999&step=1',
  'calls?service=a&groupByOperation=perhaps',
  'calls?service=a&other=1',
])('%s is refused', async (path) => {
  const answer = await api.fetch(`/jaeger/api/metrics/${path}`)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    data: null,
    errors: [{ code: 400, msg: expect.any(String) as unknown }],
  })
})
