import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { outgoingSpan } from '../../src/model/otlp/outgoing-records.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../src/model/otlp/protobuf-wire.ts'
import { cpid, hexTrace } from '../support/otlp-requests.ts'
import { cascadesForBackends } from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

const TRACE = cpid(1).replaceAll('-', '')
const RANGE = 'start=1767225600&end=1767229200'
const q = (query: string, rest = `limit=20&spss=3&${RANGE}`): string =>
  `/api/search?${new URLSearchParams({ q: query }).toString()}&${rest}`

/** What Grafana's Tempo data source asks: Save & test, Explore, the search builder with its lists of tags. */
const REQUESTS: [path: string, accept: string][] = [
  ['/api/echo', '*/*'],
  [`/api/v2/traces/${TRACE}`, 'application/protobuf'],
  [`/api/traces/${TRACE}`, 'application/protobuf'],
  [`/api/v2/traces/${TRACE}`, 'application/json'],
  [`/tempo/api/traces/${TRACE}`, 'application/json'],
  ['/api/v2/traces/99', 'application/protobuf'],
  ['/api/traces/99', 'application/protobuf'],
  ['/api/v2/traces/xyz', 'application/protobuf'],
  [q('{}'), 'application/json'],
  [`/api/search?limit=1&${RANGE}`, 'application/json'],
  [q('{resource.service.name="deployment-controller" && name="update replicaset"}'), 'application/json'],
  [q('{ duration > 50ms && kind = internal }'), 'application/json'],
  [q('{ status = error }'), 'application/json'],
  [q('{ .note =~ "ün.*" || rootName = "nothing" }'), 'application/json'],
  [q(`{ span.cpid.id = "${cpid(11)}" }`, 'limit=20&spss=1'), 'application/json'],
  [q('{}', 'start=1767229200&end=1767232800'), 'application/json'],
  [q('{ name = }'), 'application/json'],
  [q('{} | rate()'), 'application/json'],
  [`/api/v2/search/tags?limit=5000&${RANGE}`, 'application/json'],
  ['/api/v2/search/tags?scope=resource', 'application/json'],
  ['/api/search/tags', 'application/json'],
  [
    `/api/v2/search/tag/${encodeURIComponent('resource.service.name')}/values?q={}&limit=5000`,
    'application/json',
  ],
  ['/api/v2/search/tag/span.count/values', 'application/json'],
  ['/api/v2/search/tag/resource.k8s.cluster.name/values', 'application/json'],
  ['/api/v2/search/tag/status/values', 'application/json'],
  ['/api/v2/search/tag/name/values', 'application/json'],
  [
    `/api/v2/search/tag/${encodeURIComponent(encodeURIComponent('span.cpid.wrote'))}/values`,
    'application/json',
  ],
  ['/api/search/tag/service.name/values', 'application/json'],
]

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
})
afterAll(() => api[Symbol.asyncDispose]())

interface Exchange {
  path: string
  accept: string
  status: number
  type: string | null
  body: unknown
}

async function exchange(path: string, accept: string): Promise<Exchange> {
  const response = await api.fetch(path, { headers: { accept } })
  const bytes = Buffer.from(await response.arrayBuffer())
  const type = response.headers.get('content-type')
  const body: unknown =
    type === 'application/json'
      ? JSON.parse(bytes.toString())
      : type === 'application/protobuf'
        ? bytes.toString('base64')
        : bytes.toString()
  return { path, accept, status: response.status, type, body }
}

const GOLDEN = new URL('../golden/exchanges/tempo.json', import.meta.url)

test("Grafana's requests are answered as recorded", async () => {
  const exchanges = []
  for (const [path, accept] of REQUESTS) exchanges.push(await exchange(path, accept))
  if (process.env['CAUSEWAY_GOLDEN'] === '1') writeFileSync(GOLDEN, `${JSON.stringify(exchanges, null, 2)}\n`)
  expect(exchanges).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')))
})

interface Sent {
  resourceSpans: { scopeSpans: { spans: { spanId: string }[] }[] }[]
}
const spanIdsIn = (sent: Sent): string[] =>
  sent.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((s) => s.spanId)),
  )

test.each([1, 11, 21])('the protobuf of trace %i is what was sent, byte for byte', async (number) => {
  const traceId = cpid(number).replaceAll('-', '')
  const queries = api.writer.queries()
  const sent = [...(queries.traceSent(Buffer.from(traceId, 'hex')) ?? [])]
    .flat()
    .map((item) => jsonOfProtobuf('Span', outgoingSpan(item)!))
  expect(sent.length).toBeGreaterThan(0)
  const one = await exchange(`/api/traces/${traceId}`, 'application/protobuf')
  const two = await exchange(`/api/v2/traces/${traceId}`, 'application/protobuf')
  const inOne = Buffer.from(String(one.body), 'base64')
  const cursor = new WireCursor(Buffer.from(String(two.body), 'base64'))
  const traces: Buffer[] = []
  while (cursor.next()) if (cursor.field === 1) traces.push(cursor.bytes.subarray(cursor.start, cursor.end))
  expect(Buffer.concat(traces)).toEqual(inOne)
  const answered = jsonOfProtobuf('ExportTraceServiceRequest', inOne) as unknown as Sent
  expect(spanIdsIn(answered).toSorted()).toEqual(sent.map(({ spanId }) => spanId).toSorted())
  for (const span of answered.resourceSpans.flatMap((r) => r.scopeSpans.flatMap(({ spans }) => spans))) {
    expect(sent).toContainEqual(span)
  }
})

test('spans that were forwarded in their own trace are found there, before their id is indexed and after', async () => {
  const indexed = api.writer.db
    .prepare<[], string>('SELECT lower(hex(trace_id)) FROM origin_trace_index')
    .pluck()
  api.writer.spans('nobody', [{ trace: 4711, id: 1, name: 'unattributed' }])
  for (const isIndexed of [false, true]) {
    api.writer.link()
    expect(indexed.all().includes(hexTrace(4711))).toBe(isIndexed)
    const { body } = await exchange(`/tempo/api/traces/${(4711).toString(16)}`, 'application/json')
    expect(body).toMatchObject({ batches: [{ scopeSpans: [{ spans: [{ name: 'unattributed' }] }] }] })
    for (let id = 1; id <= 8; id++) api.writer.spans('later', [{ trace: 4711 + id, id }])
  }
})

test('a trace of several pages is one', async () => {
  const spans = Array.from({ length: 1200 }, (_, at) => ({
    trace: 5000,
    id: 5000 + at,
    cpid: cpid(51),
    start: 30_000 + at,
  }))
  api.writer.mergelogs('kubectl', [{ new: cpid(51), time: 30_000 }])
  api.writer.spans('many', spans)
  api.writer.link()
  const traceId = cpid(51).replaceAll('-', '')
  const { body } = await exchange(`/api/v2/traces/${traceId}`, 'application/json')
  const { trace } = body as { trace: Sent }
  expect(spanIdsIn(trace)).toHaveLength(1201)
  const { body: legacy } = await exchange(`/api/traces/${traceId}`, 'application/json')
  expect((legacy as { data: { spans: unknown[] }[] }).data[0]?.spans).toHaveLength(1201)
})

test('an expression that backtracks without end is answered', async () => {
  api.writer.spans('long', [
    { trace: 6000, id: 6000, cpid: cpid(51), name: `${'a'.repeat(80)}!`, start: 32_000 },
  ])
  api.writer.link()
  const { status, body } = await exchange(q('{ name =~ "(a+)+b" }', 'limit=20'), 'application/json')
  expect([status, body]).toMatchObject([200, { traces: [] }])
})

test('other paths under /api are nothing', async () => {
  for (const path of [
    '/api/',
    '/api/v4/traces',
    '/api/traces/1/2',
    '/tempo/api/services',
    '/jaeger/api/search',
  ]) {
    expect((await api.fetch(path)).status).toBe(404)
  }
})
