import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { status } from '@grpc/grpc-js'
import type { Json, JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'
import type { MessageName } from '../../src/query/grpc-messages.ts'
import { callGrpc } from './support/grpc-client.ts'
import { QueryApi } from './support/query-api.ts'
import { RECORDED, recordedSpans } from './support/recorded-tempo.ts'

const { base } = RECORDED
const TIMES = { start: base - 600, end: base + 600 }
const IN_SECONDS = `start=${TIMES.start}&end=${TIMES.end}`
const NANOS = { start: `${TIMES.start}000000000`, end: `${TIMES.end}000000000` }

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(recordedSpans, { wallMs: () => (base + 86_400) * 1000 })
})
afterAll(() => api[Symbol.asyncDispose]())

async function stream(method: string, request: [MessageName, JsonObject], response: MessageName) {
  const answer = await callGrpc(api.url, `/tempopb.StreamingQuerier/${method}`, request, response)
  const merged = new Map<string, Json>()
  for (const [key, value] of answer.messages.flatMap((message) => Object.entries(message))) {
    const before = merged.get(key)
    merged.set(key, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value)
  }
  return { ...answer, merged: Object.fromEntries(merged) }
}

const overHttp = async (path: string): Promise<unknown> => (await api.fetch(`/tempo/api/${path}`)).json()

/** What is zero or empty is left out on the wire by others; maps come as their entries; metrics count what was read. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, one]) => key !== 'metrics' && one !== 0 && one !== '')
      .map(([key, one]) => [key, key === 'serviceStats' ? entriesOf(one) : plain(one)]),
  )
}

const entriesOf = (stats: unknown): unknown[] =>
  (Array.isArray(stats) ? stats : Object.keys(stats as object).map((key) => ({ key }))).map(
    (entry: { key?: string }) => entry.key,
  )

test.each([
  '{ status = error }',
  '{} >> { kind = server } | select(name, resource.service.name)',
  '{ .foo = 1 } | count() > 0',
  '{ name = "nowhere" }',
])('a search for %s is answered as over HTTP', async (q) => {
  const { code, merged, messages } = await stream(
    'Search',
    ['SearchRequest', { query: q, limit: 100, spansPerSpanSet: 50, ...TIMES }],
    'SearchResponse',
  )
  const http = (await overHttp(
    `search?q=${encodeURIComponent(q)}&limit=100&spss=50&${IN_SECONDS}`,
  )) as JsonObject
  expect(code).toBe(status.OK)
  expect(plain(merged)).toEqual(
    plain({ ...http, ...((http['traces'] as Json[]).length === 0 && { traces: 0 }) }),
  )
  expect(messages.at(-1)?.['metrics']).toMatchObject({ completedJobs: 1, totalJobs: 1 })
})

test('a search by tags and durations is answered as over HTTP', async () => {
  const { merged } = await stream(
    'Search',
    [
      'SearchRequest',
      {
        tags: { 'service.name': 'shop', note: 'two "words"' },
        minDurationMs: 1,
        maxDurationMs: 60_000,
        ...TIMES,
      },
    ],
    'SearchResponse',
  )
  const tags = encodeURIComponent(String.raw`service.name=shop note="two \"words\""`)
  const http = (await overHttp(
    `search?tags=${tags}&minDuration=1ms&maxDuration=60s&${IN_SECONDS}`,
  )) as JsonObject
  expect(plain(merged['traces'] ?? [])).toEqual(plain(http['traces']))
})

test.each<[string, MessageName, JsonObject, MessageName, string]>([
  ['SearchTags', 'SearchTagsRequest', {}, 'SearchTagsResponse', 'search/tags?'],
  [
    'SearchTags',
    'SearchTagsRequest',
    { scope: 'resource' },
    'SearchTagsResponse',
    'search/tags?scope=resource&',
  ],
  [
    'SearchTagsV2',
    'SearchTagsRequest',
    { query: '{ status = error }' },
    'SearchTagsV2Response',
    'v2/search/tags?q={status=error}&',
  ],
  [
    'SearchTagValues',
    'SearchTagValuesRequest',
    { tagName: 'service.name' },
    'SearchTagValuesResponse',
    'search/tag/service.name/values?',
  ],
  [
    'SearchTagValuesV2',
    'SearchTagValuesRequest',
    { tagName: 'resource.service.name' },
    'SearchTagValuesV2Response',
    'v2/search/tag/resource.service.name/values?',
  ],
  [
    'SearchTagValuesV2',
    'SearchTagValuesRequest',
    { tagName: 'name', query: '{ kind = server }' },
    'SearchTagValuesV2Response',
    'v2/search/tag/name/values?q={kind=server}&',
  ],
])('%s %s %j is answered as over HTTP', async (method, request, fields, response, path) => {
  const { merged, code } = await stream(method, [request, { ...fields, ...TIMES }], response)
  expect(code).toBe(status.OK)
  expect(Object.keys(merged).length).toBeGreaterThan(1)
  expect(plain(merged)).toEqual(plain(await overHttp(path + IN_SECONDS)))
})

test.each([
  '{} | rate() by (resource.service.name)',
  '{} | quantile_over_time(duration, .5, .9)',
  '{ status = error } | count_over_time()',
])('metrics of %s are answered as over HTTP', async (q) => {
  const range = await stream(
    'MetricsQueryRange',
    ['QueryRangeRequest', { query: q, step: '30000000000', ...NANOS }],
    'QueryRangeResponse',
  )
  expect(plain(range.merged)).toEqual(
    plain(await overHttp(`metrics/query_range?q=${encodeURIComponent(q)}&step=30s&${IN_SECONDS}`)),
  )
  const instant = await stream(
    'MetricsQueryInstant',
    ['QueryInstantRequest', { query: q, ...NANOS }],
    'QueryInstantResponse',
  )
  expect(plain(instant.merged)).toEqual(
    plain(await overHttp(`metrics/query?q=${encodeURIComponent(q)}&${IN_SECONDS}`)),
  )
})

test.each<[string, MessageName, JsonObject]>([
  ['Search', 'SearchRequest', { query: '{ name = 1 }' }],
  ['Search', 'SearchRequest', { query: '{' }],
  ['MetricsQueryRange', 'QueryRangeRequest', { query: '{}' }],
  ['SearchTags', 'SearchTagsRequest', { scope: 'other' }],
])('%s of %s %j is refused, with the words of HTTP', async (method, request, fields) => {
  const { code, details, messages } = await stream(method, [request, fields], 'Anything')
  expect({ code, messages }).toEqual({ code: status.INVALID_ARGUMENT, messages: [] })
  expect(details).not.toBe('')
})
