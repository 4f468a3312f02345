import fc from 'fast-check'
import { hexSpan, hexTrace } from '../otlp-requests.ts'

/** Each text that spans share; so many spans share it in each of two traces, and so many more traces have one span. */
const TEXT = 256 * 1024
const SPANS = 100
const TRACES = 100

/** Where a text as long as a request may stand that very many spans share. */
const PLACES = ['service', 'resource', 'list', 'scopeName', 'scope'] as const
type Place = (typeof PLACES)[number]

const textOf = (place: Place): string => place.repeat(Math.ceil(TEXT / place.length))

function envelopesOf(place: Place) {
  const string = (key: string, stringValue: string): object => ({ key, value: { stringValue } })
  const values = ['a', 'b'].map((one) => ({ stringValue: one + textOf(place) }))
  const note =
    place === 'list' ? { key: 'note', value: { arrayValue: { values } } } : string('note', textOf(place))
  return {
    resource: {
      attributes: [
        string('service.name', place === 'service' ? textOf(place) : place),
        ...(place === 'resource' || place === 'list' ? [note] : []),
      ],
    },
    scope: {
      name: place === 'scopeName' ? textOf(place) : 'test',
      ...(place === 'scope' && { attributes: [note] }),
    },
  }
}

/** The first of the two large traces of each place. */
const FIRST: Readonly<Record<Place, number>> = { service: 1, resource: 3, list: 5, scopeName: 7, scope: 9 }

/** A request for traces in JSON: all places, with spans that started at this time. */
export function largeNames(atMs: number): Buffer {
  const time = String(BigInt(atMs) * 1_000_000n)
  let lastTrace = 100
  const resourceSpans = PLACES.map((place) => {
    const span = (trace: number, id: number, parent = 0): object => ({
      traceId: hexTrace(trace),
      spanId: hexSpan(trace * 1_000 + id),
      ...(parent > 0 && { parentSpanId: hexSpan(trace * 1_000 + parent) }),
      name: `span ${id} of ${trace}`,
      startTimeUnixNano: time,
      endTimeUnixNano: time,
    })
    const large = [FIRST[place], FIRST[place] + 1].flatMap((trace) =>
      Array.from({ length: SPANS }, (_, at) => span(trace, at + 1, at === 0 ? 0 : 1)),
    )
    const small = Array.from({ length: TRACES }, () => span(++lastTrace, 1))
    const { resource, scope } = envelopesOf(place)
    return { resource, scopeSpans: [{ scope, spans: [...large, ...small] }] }
  })
  return Buffer.from(JSON.stringify({ resourceSpans }))
}

export interface LargeNamesQuestion {
  readonly path: string
  /** Of a POST. */
  readonly body?: string
}

const ATTRIBUTES = [
  ...(['resource.service.name', 'resource.note', 'instrumentation:name', 'instrumentation.note'] as const),
  ...(['.note', 'trace:rootService', 'span:name', 'span:id'] as const),
]
const some = fc.subarray(ATTRIBUTES, { minLength: 1, maxLength: 4 }).map((list) => list.join(', '))
const condition = fc.oneof(
  fc.constant(''),
  fc
    .constantFrom('resource.note', 'resource.service.name', 'instrumentation:name')
    .map((one) => `${one} != "a"`),
)

/** Questions whose answers show what spans share with each of them, for a Causeway that was sent large names at this time. */
export function largeNamesQuestions(atMs: number): fc.Arbitrary<LargeNamesQuestion> {
  const seconds = Math.floor(atMs / 1_000)
  const path = (name: string, parameters: Record<string, string>): string =>
    `${name}?${new URLSearchParams(parameters).toString()}`
  const ofTime = { start: String(seconds - 100), end: String(seconds + 100) }
  const search = fc
    .record({ condition, select: some, by: fc.constantFrom(...ATTRIBUTES), isGrouped: fc.boolean() })
    .map(({ condition: where, select, by, isGrouped }) =>
      path('/tempo/api/search', {
        q: `{ ${where} } | ${isGrouped ? `by(${by}) | ` : ''}select(${select})`,
        ...{ limit: '1000', spss: '1000' },
      }),
    )
  const metric = fc
    .record({ condition, by: some, name: fc.constantFrom('rate()', 'quantile_over_time(duration, 0.5)') })
    .map(({ condition: where, by, name }) =>
      path('/tempo/api/metrics/query_range', {
        q: `{ ${where} } | ${name} by(${by})`,
        step: '10s',
        ...ofTime,
      }),
    )
  const compared = fc.constantFrom(...ATTRIBUTES).map((attribute) =>
    path('/tempo/api/metrics/query_range', {
      q: `{} | compare({ ${attribute} = "a" })`,
      step: '10s',
      ...ofTime,
    }),
  )
  const trace = fc
    .record({ place: fc.constantFrom(...PLACES), more: fc.integer({ min: 0, max: 1 }) })
    .map(({ place, more }) => hexTrace(FIRST[place] + more))
  const shown = fc
    .tuple(fc.constantFrom('/jaeger/api/traces', '/jaeger/api/v3/traces', '/tempo/api/traces'), trace)
    .map(([name, id]) => `${name}/${id}`)
  const of = ofTime.start.padEnd(ofTime.start.length + 3, '0')
  const lists = fc.constantFrom(
    path('/jaeger/api/v3/trace-summaries', {
      'query.startTimeMin': '2020-01-01T00:00:00Z',
      'query.startTimeMax': '2060-01-01T00:00:00Z',
      'query.searchDepth': '1500',
    }),
    path('/jaeger/api/dependencies', { endTs: of, lookback: '1000000000' }),
    path('/tempo/api/v2/search/tag/resource.note/values', {}),
    '/jaeger/api/services',
    '/tempo/api/search?limit=1000',
  )
  const diff = fc
    .tuple(trace, trace, fc.constantFrom('trace-patch-v0', 'trace-summary-v0-composed'))
    .map(([base, compare, format]): LargeNamesQuestion => ({
      path: '/tempo/api/v2/traces/diff',
      body: JSON.stringify({ base: { traceId: base }, compare: { traceId: compare }, format }),
    }))
  const asked = fc
    .oneof(search, metric, compared, shown, lists)
    .map((one): LargeNamesQuestion => ({ path: one }))
  return fc.oneof({ weight: 5, arbitrary: asked }, { weight: 1, arbitrary: diff })
}

/** The most bytes that an answer has. */
export const LONGEST_ANSWER = 40 * 2 ** 20
