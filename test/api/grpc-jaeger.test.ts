import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { status } from '@grpc/grpc-js'
import { jsonOfProtobuf, type JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'
import type { MessageName } from '../../src/query/grpc-messages.ts'
import { cpid } from '../support/otlp-requests.ts'
import { callGrpc, callGrpcForBytes, type GrpcAnswer } from './support/grpc-client.ts'
import { cascadesForBackends } from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

const READER = '/jaeger.storage.v2.TraceReader'
const FROM = { seconds: '1767225600' }
const TO = { seconds: '1767229200' }

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
})
afterAll(() => api[Symbol.asyncDispose]())

const call = (path: string, request: [MessageName, JsonObject], response: MessageName): Promise<GrpcAnswer> =>
  callGrpc(api.url, path, request, response)

async function spansOf(query: JsonObject): Promise<JsonObject[]> {
  const { code, messages } = await callGrpcForBytes(api.url, `${READER}/FindTraces`, [
    'FindTracesRequest',
    { query },
  ])
  expect(code).toBe(status.OK)
  return messages.flatMap(spansIn)
}

const spansIn = (bytes: Buffer): JsonObject[] =>
  (jsonOfProtobuf('ExportTraceServiceRequest', bytes)['resourceSpans'] as JsonObject[]).flatMap((resource) =>
    (resource['scopeSpans'] as JsonObject[]).flatMap((scope) => scope['spans'] as JsonObject[]),
  )

const names = (spans: readonly JsonObject[]): unknown[] => spans.map((span) => span['name']).sort()

test('services and operations are those of HTTP', async () => {
  const services = await call(`${READER}/GetServices`, ['Anything', {}], 'GetServicesResponse')
  expect(services.messages).toEqual([await (await api.fetch('/jaeger/api/v3/services')).json()])
  for (const [kind, shown] of [
    ['client', ['everything']],
    ['', ['change', 'everything', 'merge']],
  ] as const) {
    const operations = await call(
      `${READER}/GetOperations`,
      ['GetOperationsRequest', { service: 'odd', spanKind: kind }],
      'GetOperationsResponse',
    )
    expect(names(operations.messages.flatMap((one) => one['operations'] as JsonObject[]))).toEqual(shown)
  }
})

test('a search finds spans by service, operation, attributes of any type, durations and times', async () => {
  const odd = { serviceName: 'odd', startTimeMin: FROM, startTimeMax: TO }
  const attribute = (key: string, value: JsonObject): JsonObject => ({ attributes: [{ key, value }] })
  const all = names(await spansOf(odd))
  expect(all).toContain('everything')
  expect(names(await spansOf({ ...odd, operationName: 'everything' }))).toEqual(all)
  expect(names(await spansOf({ ...odd, ...attribute('count', { intValue: '3' }) }))).toEqual(all)
  expect(names(await spansOf({ ...odd, ...attribute('share', { doubleValue: 0.25 }) }))).toEqual(all)
  expect(names(await spansOf({ ...odd, ...attribute('flag', { boolValue: true }) }))).toEqual(all)
  expect(names(await spansOf({ ...odd, ...attribute('span.kind', { stringValue: 'client' }) }))).toEqual(all)
  expect(
    names(await spansOf({ ...odd, durationMin: { nanos: 10_000_000 }, durationMax: { nanos: 11_000_000 } })),
  ).toEqual(all)
  expect(await spansOf({ ...odd, durationMin: { nanos: 11_000_000 } })).toEqual([])
  expect(await spansOf({ ...odd, ...attribute('flag', { boolValue: false }) })).toEqual([])
  expect(await spansOf({ ...odd, operationName: 'nothing' })).toEqual([])
  expect(await spansOf({ ...odd, startTimeMin: TO, startTimeMax: { seconds: '1767232800' } })).toEqual([])
})

test('without a service a search is for the spans of anybody', async () => {
  const ids = await call(
    `${READER}/FindTraceIDs`,
    ['FindTracesRequest', { query: { searchDepth: 1_000 } }],
    'FindTraceIDsResponse',
  )
  const listed = await api.fetch('/tempo/api/search?limit=1000')
  const { traces } = (await listed.json()) as { traces: { traceID: string }[] }
  const [{ traceIds = [] } = {}] = ids.messages
  expect((traceIds as JsonObject[]).map(({ traceId }) => traceId).sort()).toEqual(
    traces.map(({ traceID }) => traceID).sort(),
  )
  const summaries = await call(
    `${READER}/FindTraceSummaries`,
    [
      'FindTracesRequest',
      { query: { searchDepth: 1_000, startTimeMin: FROM, startTimeMax: { seconds: '1767312000' } } },
    ],
    'FindTraceSummariesResponse',
  )
  const times = 'query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-02T00:00:00Z'
  const asHttp = await api.fetch(`/jaeger/api/v3/trace-summaries?${times}&query.searchDepth=1000`)
  expect(summaries.messages).toEqual([await asHttp.json()])
})

test('traces come whole, those that are unknown not at all', async () => {
  const [known, other] = [cpid(1), cpid(21)].map((id) => id.replaceAll('-', ''))
  const query = [known, '9'.repeat(32), other].map((traceId = '') => ({ traceId }))
  const { messages } = await callGrpcForBytes(api.url, `${READER}/GetTraces`, ['GetTracesRequest', { query }])
  const ids = messages.map((bytes) => new Set(spansIn(bytes).map((span) => span['traceId'])))
  expect(ids).toEqual([new Set([known]), new Set([other])])
  const whole = await api.fetch(`/jaeger/api/traces/${known}`)
  const { data } = (await whole.json()) as { data: { spans: unknown[] }[] }
  const [first = Buffer.alloc(0)] = messages
  expect(spansIn(first)).toHaveLength(data[0]?.spans.length ?? -1)
})

test('dependencies are those of HTTP', async () => {
  const { messages } = await call(
    '/jaeger.storage.v2.DependencyReader/GetDependencies',
    ['GetDependenciesRequest', { startTime: FROM, endTime: { seconds: '1767312000' } }],
    'GetDependenciesResponse',
  )
  const http = await api.fetch('/jaeger/api/dependencies?endTs=1767312000000&lookback=86400000')
  const { data } = (await http.json()) as { data: { callCount: number }[] }
  expect(data.length).toBeGreaterThan(0)
  expect(messages).toEqual([{ data: data.map((one) => ({ ...one, callCount: String(one.callCount) })) }])
})

test('it says what it can do, and that it is well', async () => {
  const { messages } = await call(
    '/jaeger.storage.v2.Capabilities/GetCapabilities',
    ['Anything', {}],
    'GetCapabilitiesResponse',
  )
  expect(messages).toEqual([{ search: { withoutServiceName: true, sameSpanConjunction: true } }])
  const health = (service: string): Promise<GrpcAnswer> =>
    call('/grpc.health.v1.Health/Check', ['HealthCheckRequest', { service }], 'HealthCheckResponse')
  expect((await health('')).messages).toEqual([{ status: 1 }])
  expect((await health('jaeger.storage.v2.TraceReader')).messages).toEqual([{ status: 1 }])
  expect(await health('other')).toMatchObject({ code: status.NOT_FOUND, messages: [] })
})

test.each<[string, string, [MessageName, JsonObject], status, RegExp]>([
  [
    'spans',
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    ['Anything', {}],
    status.UNIMPLEMENTED,
    /otlp receiver/,
  ],
  [
    'a short trace id',
    `${READER}/GetTraces`,
    ['GetTracesRequest', { query: [{ traceId: 'ff' }] }],
    status.INVALID_ARGUMENT,
    /16 bytes/,
  ],
  [
    'a filter',
    `${READER}/FindTraces`,
    ['FindTracesRequest', { query: { filter: {} } }],
    status.INVALID_ARGUMENT,
    /filter is not understood/,
  ],
  [
    'a time that ends before it begins',
    `${READER}/FindTraces`,
    ['FindTracesRequest', { query: { startTimeMin: TO, startTimeMax: FROM } }],
    status.INVALID_ARGUMENT,
    /must be before/,
  ],
  [
    'a kind that there is not',
    `${READER}/GetOperations`,
    ['GetOperationsRequest', { spanKind: 'odd' }],
    status.INVALID_ARGUMENT,
    /one of/,
  ],
  ['a method that there is not', `${READER}/Nothing`, ['Anything', {}], status.UNIMPLEMENTED, /method/],
  [
    'a request that is too long',
    `${READER}/GetOperations`,
    ['GetOperationsRequest', { service: 'x'.repeat(33_000) }],
    status.RESOURCE_EXHAUSTED,
    /larger/,
  ],
])('%s is refused', async (_, path, request, code, details) => {
  expect(await call(path, request, 'Anything')).toMatchObject({
    code,
    messages: [],
    details: expect.stringMatching(details),
  })
  expect(api.troubles).toEqual([])
})
