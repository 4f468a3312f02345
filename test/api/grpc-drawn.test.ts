import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { type Json, type JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'
import { START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { callGrpc } from './support/grpc-client.ts'
import { QueryApi } from './support/query-api.ts'

const WORDS = [
  'web',
  "o'clock",
  '"said"',
  'back\\slash',
  'two\nlines',
  'Zürich',
  '👩‍💻',
  ' ',
  'a=b',
  'a b',
  '%',
  '{',
  'x:y',
]
/** Milliseconds that spans take: one ends before it starts, and one takes 46 days. */
const LENGTHS = [0, 1, 20, -5, 4e9]
const START_S = Number(START_NS / 1_000_000_000n)

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over((path) => TestWriter.open({}, path))
  for (const [at, word] of WORDS.entries())
    api.writer.spans(word, [
      {
        ...{
          trace: at + 1,
          id: at + 1,
          name: WORDS[(at + 1) % WORDS.length] ?? '',
          start: at * 250,
          end: at * 250 + (LENGTHS[at % LENGTHS.length] ?? 0),
        },
        attributes: { note: WORDS[(at + 2) % WORDS.length], 'key with "quotes"': word, count: at },
        status: at % 3,
      },
    ])
  api.writer.pass(10_001)
})
afterAll(() => api[Symbol.asyncDispose]())

const word = fc.constantFrom(...WORDS, 'unknown', '')
/** Seconds after START_NS. */
const seconds = fc.option(fc.constantFrom(-1, 0, 0.25, 1, 1.000_001, 2.5, 3, 100), { freq: 1 })
const millis = fc.option(fc.constantFrom(0, 1, 19.5, 20, 21, 1_000), { freq: 1 })
const tags = fc.array(
  fc.tuple(fc.constantFrom('note', 'key with "quotes"', 'count', 'none', 'span.kind', 'error'), word),
  { maxLength: 1 },
)
const limit = fc.option(fc.constantFrom(0, 1, 2, 5, 1_000, 1_500, 5_000), { freq: 2 })

const stamp = (after: number): JsonObject => {
  const ns = START_NS + BigInt(Math.round(after * 1e6)) * 1_000n
  return { seconds: String(ns / 1_000_000_000n), nanos: Number(ns % 1_000_000_000n) }
}
const length = (ms: number): JsonObject => ({
  seconds: String(Math.floor(ms / 1_000)),
  nanos: Math.round((ms % 1_000) * 1e6),
})

/** What is 0 or empty is left out on the wire by others; maps come as their entries. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key, one]) =>
      key !== 'serviceStats' &&
      one !== 0 &&
      one !== '0' &&
      one !== '' &&
      !(Array.isArray(one) && one.length === 0),
  )
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutDefaults(one)]))
}

interface Told {
  readonly refused: boolean
  readonly ids: string[]
}

test('a search through Jaeger’s gRPC is answered as over HTTP', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        service: word,
        operation: word,
        tags,
        least: millis,
        most: millis,
        from: seconds,
        to: seconds,
        limit,
      }),
      async ({ service, operation, tags: asked, least, most, from, to, limit: most1 }) => {
        const search = new URLSearchParams()
        if (service !== '') search.set('query.service_name', service)
        if (operation !== '') search.set('query.operation_name', operation)
        if (asked.length > 0) search.set('query.attributes', JSON.stringify(Object.fromEntries(asked)))
        if (least !== null) search.set('query.duration_min', `${least}ms`)
        if (most !== null) search.set('query.duration_max', `${most}ms`)
        const [begin, end] = [from ?? -1_000, to ?? 1_000]
        const rfc = (after: number): string =>
          new Date(Number(START_NS / 1_000_000n) + Math.round(after * 1e3))
            .toISOString()
            .replace('Z', after === 1.000_001 ? '001Z' : 'Z')
        search.set('query.start_time_min', rfc(begin))
        search.set('query.start_time_max', rfc(end))
        const depth = most1 === null ? undefined : most1
        if (depth !== undefined && depth > 0 && depth <= 1_500)
          search.set('query.search_depth', String(depth))
        const response = await api.fetch(`/jaeger/api/v3/trace-summaries?${search.toString()}`)
        const body = (await response.json()) as { summaries?: { traceId: string }[] }
        const overHttp: Told = {
          refused: response.status === 400,
          ids: (body.summaries ?? []).map(({ traceId }) => traceId).sort(),
        }
        const query = {
          serviceName: service,
          operationName: operation,
          attributes: asked.map(([key, value]) => ({ key, value: { stringValue: value } })),
          ...(least !== null && { durationMin: length(least) }),
          ...(most !== null && { durationMax: length(most) }),
          startTimeMin: stamp(begin),
          startTimeMax: stamp(end),
          ...(depth !== undefined && { searchDepth: Math.min(depth, 1_500) }),
        }
        const { code, messages } = await callGrpc(
          api.url,
          '/jaeger.storage.v2.TraceReader/FindTraceIDs',
          ['FindTracesRequest', { query }],
          'FindTraceIDsResponse',
        )
        const told: Told = {
          refused: code === status.INVALID_ARGUMENT,
          ids: messages
            .flatMap(({ traceIds = [] }) =>
              (traceIds as JsonObject[]).map(({ traceId }) => traceId as string),
            )
            .sort(),
        }
        expect(told).toEqual(overHttp)
        if (code !== status.INVALID_ARGUMENT) expect(code).toBe(status.OK)
      },
    ),
    { numRuns: 100 },
  )
})

test('a search through Tempo’s streams is answered as over HTTP', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        tags: fc.array(fc.tuple(fc.constantFrom('note', 'service.name', 'name', 'count'), word), {
          maxLength: 1,
        }),
        least: fc.option(fc.nat(30)),
        most: fc.option(fc.nat(30)),
        from: fc.option(fc.constantFrom(0, 1, 2, 3, 60)),
        to: fc.option(fc.constantFrom(0, 1, 2, 3, 60)),
        limit: fc.option(fc.constantFrom(1, 2, 5, 100, 5_000)),
        spss: fc.option(fc.constantFrom(1, 3)),
      }),
      async ({ tags: asked, least, most, from, to, limit: count, spss }) => {
        const search = new URLSearchParams()
        const quoted = (text: string): string => `"${text.replaceAll(/[\\"]/g, String.raw`\$&`)}"`
        if (asked.length > 0)
          search.set('tags', asked.map(([key, value]) => `${key}=${quoted(value)}`).join(' '))
        if (least !== null) search.set('minDuration', `${least}ms`)
        if (most !== null) search.set('maxDuration', `${most}ms`)
        if (from !== null) search.set('start', String(START_S + from))
        if (to !== null) search.set('end', String(START_S + to))
        if (count !== null) search.set('limit', String(count))
        if (spss !== null) search.set('spss', String(spss))
        const response = await api.fetch(`/tempo/api/search?${search.toString()}`)
        const text = await response.text()
        const http =
          response.status === 200 ? (JSON.parse(text) as { traces: Json[] }).traces : response.status
        const { code, messages } = await callGrpc(
          api.url,
          '/tempopb.StreamingQuerier/Search',
          [
            'SearchRequest',
            {
              tags: Object.fromEntries(asked),
              ...(least !== null && { minDurationMs: least }),
              ...(most !== null && { maxDurationMs: most }),
              ...(from !== null && { start: START_S + from }),
              ...(to !== null && { end: START_S + to }),
              ...(count !== null && { limit: count }),
              ...(spss !== null && { spansPerSpanSet: spss }),
            },
          ],
          'SearchResponse',
        )
        const told =
          code === status.OK
            ? messages.flatMap(({ traces = [] }) => traces as Json[])
            : code === status.INVALID_ARGUMENT
              ? 400
              : code
        const plain = (of: Json[] | number): unknown =>
          typeof of === 'number' ? of : of.map(withoutDefaults)
        expect(plain(told)).toEqual(plain(http))
      },
    ),
    { numRuns: 100 },
  )
})
