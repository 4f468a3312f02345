import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { z } from 'zod'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { QueryApi } from './support/query-api.ts'
import { RECORDED, type RecordedSpan, recordedSpans, spansOfRecording } from './support/recorded-tempo.ts'

type Test = (span: RecordedSpan) => boolean

interface GrafanaRequest {
  /** Where it stands in Grafana's sources. */
  readonly from: string
  readonly path: string
  readonly parameters: Readonly<Record<string, string>>
  /** Whether it says a time where others do not. */
  readonly inTime?: boolean
  readonly accept?: string
  readonly needs?: readonly string[]
  /** The attributes that every span of the answer has, since Drilldown reads them. */
  readonly shows?: readonly string[]
}

const REQUESTS = JSON.parse(
  readFileSync(new URL('../query/fixtures/grafana/requests.json', import.meta.url), 'utf8'),
) as GrafanaRequest[]
const SPANS = spansOfRecording()
const { base } = RECORDED

const valueOf = (of: Pick<RecordedSpan, 'attributes'>, name: string): unknown =>
  Object.values(of.attributes?.find(({ key }) => key === name)?.value ?? {})[0]
const isRoot: Test = ({ parentSpanId = '' }) => parentSpanId === ''
const hasRoot = new Set(SPANS.filter(isRoot).map(({ traceId }) => traceId))
const isError: Test = ({ status }) => status?.code === 2
const isOf =
  (service: string): Test =>
  ({ resource }) =>
    valueOf(resource, 'service.name') === service
const throws =
  (message?: string): Test =>
  ({ events = [] }) =>
    events.some((event) => {
      const thrown = valueOf(event, 'exception.message')
      return message === undefined ? thrown !== undefined : thrown === message
    })

/** src/pages/Explore/primary-signals.ts:5 of Traces Drilldown. */
const SIGNALS: Readonly<Record<string, Test>> = {
  'nestedSetParent<0': isRoot,
  true: () => true,
  'kind=server': ({ kind }) => kind === 2,
  'kind=consumer': ({ kind }) => kind === 5,
  'span.db.system.name!=""': (span) => valueOf(span, 'db.system.name') !== undefined,
}
/** src/utils/filters-renderer.ts:23 of Traces Drilldown. */
const FILTERS: Readonly<Record<string, Test>> = {
  true: () => true,
  'resource.service.name="cart"&&span.http.method!="GET"': (span) =>
    isOf('cart')(span) && ![undefined, 'GET'].includes(valueOf(span, 'http.method') as string),
  'span.http.status_code=500&&name=~"GET.*|POST.*"': (span) =>
    String(valueOf(span, 'http.status_code')) === '500' && /^(?:GET|POST)/.test(span.name),
}
/** src/utils/shared.ts:56 of Traces Drilldown, those that the recording has, and one that it has not. */
const KEYS: Readonly<Record<string, Test>> = {
  'resource.service.name': () => true,
  'resource.k8s.cluster.name': ({ resource }) => valueOf(resource, 'k8s.cluster.name') !== undefined,
  'resource.k8s.pod.name': () => false,
  'span.http.status_code': (span) => valueOf(span, 'http.status_code') !== undefined,
  name: () => true,
  kind: () => true,
  status: () => true,
  rootName: ({ traceId }) => hasRoot.has(traceId),
  rootServiceName: ({ traceId }) => hasRoot.has(traceId),
}
const NEEDS: Readonly<Record<string, Test>> = {
  error: isError,
  cart: isOf('cart'),
  exception: throws('m0'),
  exceptions: throws(),
  slow: ({ startTimeUnixNano, endTimeUnixNano }) =>
    BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano) > 50_000_000n,
}

interface Played {
  readonly url: string
  readonly accept: string
  readonly isFound: boolean
}

const ANY = ['true', () => true] as const
const NONE = ['', () => true] as const

/** A request with every signal, filter and key that it takes, one of them other than usual at a time. */
function* playedOf(request: GrafanaRequest): Generator<Played> {
  const text = request.path + (request.parameters['q'] ?? '')
  const signals = text.includes('$F') ? Object.entries(SIGNALS) : [NONE]
  const filters = text.includes('$F') ? Object.entries(FILTERS) : [NONE]
  const keys = text.includes('$K') ? Object.entries(KEYS) : [NONE]
  const key = keys[0] ?? NONE
  const usual = text.includes('$F') ? ANY : NONE
  for (const signal of signals) yield playedWith(request, signal, usual, key)
  for (const filter of filters.slice(1)) yield playedWith(request, usual, filter, key)
  for (const other of keys.slice(1)) yield playedWith(request, usual, usual, other)
}

type Chosen = readonly [text: string, holds: Test]

function playedWith(
  { path, parameters: given, needs = [], inTime, accept = 'application/json' }: GrafanaRequest,
  [signal, hasSignal]: Chosen,
  [filter, isFiltered]: Chosen,
  [key, hasKey]: Chosen,
): Played {
  const parameters = new URLSearchParams(given)
  if (given['q'] !== undefined)
    parameters.set(
      'q',
      given['q']
        .replaceAll('$FROM', `${base - 10}000000000`)
        .replaceAll('$TO', `${base + 20}000000000`)
        .replaceAll('$F', `${signal} && ${filter}`)
        .replaceAll('$K', key),
    )
  if (inTime === true || /metrics|search$/.test(path)) {
    parameters.set('start', String(base - 60))
    parameters.set('end', String(base + 120))
  }
  // Names of tags are encoded twice.
  const filled = path
    .replace('$K', () => encodeURIComponent(encodeURIComponent(key)))
    .replace('$TRACE', SPANS[0]?.traceId ?? '')
  const needed = needs.map((need) => NEEDS[need] ?? (() => false))
  // Tempo lists every kind and status, whatever spans there are.
  const isListed = path.endsWith('values') && (key === 'kind' || key === 'status')
  const isHeld = (span: RecordedSpan): boolean =>
    [hasSignal, isFiltered, hasKey, ...needed].every((holds) => holds(span))
  return {
    url: `/tempo${filled}?${parameters.toString()}`,
    accept,
    isFound: isListed || SPANS.some(isHeld),
  }
}

const Value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string() }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
])
const Labels = z.array(z.strictObject({ key: z.string(), value: Value }))
const Digits = z.string().regex(/^\d+$/)
const Number_ = z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])])
const Spans = z.array(
  z.strictObject({
    spanID: z.string().regex(/^[0-9a-f]{16}$/),
    name: z.string().optional(),
    startTimeUnixNano: Digits,
    durationNanos: Digits.optional(),
    attributes: Labels.optional(),
  }),
)
const SpanSet = z.strictObject({ spans: Spans, matched: z.number(), attributes: Labels.optional() })
const Metrics = z.looseObject({ completedJobs: z.number(), totalJobs: z.number() })
const SHAPES = {
  search: z.strictObject({
    traces: z.array(
      z.strictObject({
        traceID: z.string().regex(/^[0-9a-f]{1,32}$/),
        rootServiceName: z.string(),
        rootTraceName: z.string().optional(),
        startTimeUnixNano: Digits,
        durationMs: z.number().optional(),
        spanSet: SpanSet.optional(),
        spanSets: z.array(SpanSet),
        serviceStats: z.record(z.string(), z.looseObject({ spanCount: z.number() })).optional(),
      }),
    ),
    metrics: Metrics,
  }),
  query_range: z.strictObject({
    series: z.array(
      z.strictObject({
        labels: Labels,
        samples: z.array(z.strictObject({ timestampMs: Digits, value: Number_.optional() })),
        exemplars: z.array(z.looseObject({ labels: Labels, timestampMs: Digits })).optional(),
      }),
    ),
    metrics: Metrics,
  }),
  query: z.strictObject({
    series: z.array(z.strictObject({ labels: Labels, value: Number_.optional() })),
    metrics: Metrics,
  }),
  tags: z.strictObject({
    scopes: z.array(z.strictObject({ name: z.string(), tags: z.array(z.string()) })),
    metrics: z.looseObject({}),
  }),
  values: z.strictObject({
    tagValues: z.array(z.strictObject({ type: z.string(), value: z.string() })),
    metrics: z.looseObject({}),
  }),
  trace: z.strictObject({ trace: z.strictObject({ resourceSpans: z.array(z.looseObject({})) }) }),
}

const tracesOf = (answer: string): z.infer<typeof SHAPES.search>['traces'] =>
  SHAPES.search.parse(JSON.parse(answer)).traces

/** How much is in an answer; a series of nothing but zeros is nothing. */
function amountOf(path: string, answer: string): number {
  const [, last = ''] = /(\w+)$/.exec(path) ?? []
  if (path.includes('/traces/')) return SHAPES.trace.parse(JSON.parse(answer)).trace.resourceSpans.length
  switch (last) {
    case 'search':
      return tracesOf(answer).length
    case 'query_range':
      return SHAPES.query_range
        .parse(JSON.parse(answer))
        .series.filter(({ samples }) => samples.some(({ value }) => value !== undefined)).length
    case 'query':
      return SHAPES.query.parse(JSON.parse(answer)).series.length
    case 'tags':
      return SHAPES.tags.parse(JSON.parse(answer)).scopes.length
    case 'values':
      return SHAPES.values.parse(JSON.parse(answer)).tagValues.length
    default:
      return answer.length
  }
}

const SPANS_OF_TRACE = SPANS.filter(({ traceId }) => traceId === SPANS[0]?.traceId).length

function spansIn(trace: object): number {
  const { resourceSpans } = trace as { resourceSpans: { scopeSpans: { spans: object[] }[] }[] }
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)).length
}

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(recordedSpans)
})
afterAll(() => api[Symbol.asyncDispose]())

test.each(REQUESTS)('$path $parameters.q, as of $from', async (request) => {
  for (const { url, accept, isFound } of playedOf(request)) {
    const response = await api.fetch(url, { headers: { accept } })
    const body = Buffer.from(await response.arrayBuffer())
    expect([url, response.status, response.status === 200 ? '' : body.toString()]).toEqual([url, 200, ''])
    expect(response.headers.get('content-type')).toContain(
      accept === 'application/json' && url.includes('echo') ? 'text/plain' : accept,
    )
    if (accept === 'application/protobuf') {
      // Version 2 has the same in a field of its own.
      if (!url.includes('/v2/'))
        expect(spansIn(jsonOfProtobuf('ExportTraceServiceRequest', body))).toBe(SPANS_OF_TRACE)
      continue
    }
    expect([url, amountOf(request.path, body.toString()) > 0]).toEqual([url, isFound])
    if (request.shows === undefined) continue
    for (const { spanSets } of tracesOf(body.toString()))
      for (const { attributes = [] } of spanSets.flatMap(({ spans }) => spans))
        expect(attributes.map(({ key }) => key)).toEqual(expect.arrayContaining([...request.shows]))
  }
})
