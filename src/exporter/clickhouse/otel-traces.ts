import type { ArchivedSentSpan } from '../../model/archive.ts'
import { isOutOfMemory } from '../../model/faults.ts'
import type { OtlpJson } from '../../model/otlp/message-schema.ts'
import { type Json, jsonOfProtobuf } from '../../model/otlp/protobuf-to-json.ts'
import { MalformedOtlp } from '../../model/otlp/protobuf-wire.ts'
import type { ScopeEnvelopes } from '../../model/outbox.ts'
import { type BlockColumn, type Rows, rowsOf } from './native-block.ts'
import { plainSpan, type PlainSpan } from './plain-span.ts'

/**
 * The table of spans that the Collector's ClickHouse exporter writes, and that Grafana, ClickStack and Jaeger read: its columns in
 * its order. Here a repeated span replaces itself; the primary key is the Collector's.
 */
const WORD = 'LowCardinality(String)'
const ATTRIBUTES = `Map(${WORD}, String)`
const KINDS = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer']
const STATUSES = ['Unset', 'Ok', 'Error']

interface OtelRow {
  readonly span: PlainSpan
  readonly envelope: Envelope
  readonly events: readonly OtlpJson<'Event'>[]
  readonly links: readonly OtlpJson<'Link'>[]
}

export const OTEL_COLUMNS: readonly BlockColumn<OtelRow, undefined>[] = [
  {
    name: 'Timestamp',
    type: 'DateTime64(9) CODEC(Delta(8), ZSTD(1))',
    of: ({ span }) => storable(span.start),
  },
  { name: 'TraceId', type: 'String CODEC(ZSTD(1))', of: ({ span }) => span.traceId },
  { name: 'SpanId', type: 'String CODEC(ZSTD(1))', of: ({ span }) => span.spanId },
  { name: 'ParentSpanId', type: 'String CODEC(ZSTD(1))', of: ({ span }) => span.parentSpanId },
  { name: 'TraceState', type: 'String CODEC(ZSTD(1))', of: ({ span }) => span.traceState },
  { name: 'SpanName', type: `${WORD} CODEC(ZSTD(1))`, of: ({ span }) => span.name },
  { name: 'SpanKind', type: `${WORD} CODEC(ZSTD(1))`, of: ({ span }) => KINDS[span.kind] ?? 'Unspecified' },
  { name: 'ServiceName', type: `${WORD} CODEC(ZSTD(1))`, of: ({ envelope }) => envelope.service },
  {
    name: 'ResourceAttributes',
    type: `${ATTRIBUTES} CODEC(ZSTD(1))`,
    of: ({ envelope }) => envelope.resource,
  },
  { name: 'ScopeName', type: 'String CODEC(ZSTD(1))', of: ({ envelope }) => envelope.scopeName },
  { name: 'ScopeVersion', type: 'String CODEC(ZSTD(1))', of: ({ envelope }) => envelope.scopeVersion },
  { name: 'SpanAttributes', type: `${ATTRIBUTES} CODEC(ZSTD(1))`, of: ({ span }) => span.attributes },
  {
    name: 'Duration',
    type: 'UInt64 CODEC(ZSTD(1))',
    of: ({ span: { start, end } }) => (end > start ? end - start : 0n),
  },
  {
    name: 'StatusCode',
    type: `${WORD} CODEC(ZSTD(1))`,
    of: ({ span }) => STATUSES[span.status.code] ?? 'Unset',
  },
  { name: 'StatusMessage', type: 'String CODEC(ZSTD(1))', of: ({ span }) => span.status.message },
  {
    name: 'Events.Timestamp',
    type: 'Array(DateTime64(9)) CODEC(ZSTD(1))',
    of: ({ events }) => events.map(({ timeUnixNano = 0 }) => storable(BigInt(timeUnixNano))),
  },
  {
    name: 'Events.Name',
    type: `Array(${WORD}) CODEC(ZSTD(1))`,
    of: ({ events }) => events.map(({ name = '' }) => name),
  },
  {
    name: 'Events.Attributes',
    type: `Array(${ATTRIBUTES}) CODEC(ZSTD(1))`,
    of: ({ events }) => events.map(attributesOf),
  },
  {
    name: 'Links.TraceId',
    type: 'Array(String) CODEC(ZSTD(1))',
    of: ({ links }) => links.map(({ traceId = '' }) => traceId),
  },
  {
    name: 'Links.SpanId',
    type: 'Array(String) CODEC(ZSTD(1))',
    of: ({ links }) => links.map(({ spanId = '' }) => spanId),
  },
  {
    name: 'Links.TraceState',
    type: 'Array(String) CODEC(ZSTD(1))',
    of: ({ links }) => links.map(({ traceState = '' }) => traceState),
  },
  {
    name: 'Links.Attributes',
    type: `Array(${ATTRIBUTES}) CODEC(ZSTD(1))`,
    of: ({ links }) => links.map(attributesOf),
  },
]

export const OTEL_INDEXES = [
  'INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1',
  'INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1',
  'INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1',
  'INDEX idx_span_attr_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1',
  'INDEX idx_span_attr_value mapValues(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1',
  'INDEX idx_duration Duration TYPE minmax GRANULARITY 1',
]

export const OTEL_PRIMARY_KEY = 'ServiceName, SpanName, toDateTime(Timestamp)'
export const OTEL_KEY = `${OTEL_PRIMARY_KEY}, Timestamp, TraceId, SpanId, SpanKind`

/** The rows of spans. Damaged spans are left out, since a backend would refuse them. */
export function otelRows(spans: readonly ArchivedSentSpan[]): Rows {
  const known = new Map<ScopeEnvelopes | undefined, Envelope>()
  return rowsOf(
    OTEL_COLUMNS,
    spans.flatMap((span) => rowIfReadable(span, known) ?? []),
    undefined,
  )
}

function rowIfReadable(
  { bytes, envelopes }: ArchivedSentSpan,
  known: Map<ScopeEnvelopes | undefined, Envelope>,
): OtelRow | undefined {
  try {
    let envelope = known.get(envelopes)
    if (envelope === undefined) {
      envelope = envelopeOf(envelopes)
      known.set(envelopes, envelope)
    }
    const span = plainIn(bytes)
    return span === undefined
      ? { ...readAsTree(jsonOfProtobuf('Span', bytes)), envelope }
      : { span, envelope, events: NONE, links: NONE }
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return undefined
  }
}

const NONE: readonly never[] = []

/** The span, if this reader can read it. The slower reader is tried next, since it may accept more. */
function plainIn(bytes: Buffer): PlainSpan | undefined {
  try {
    return plainSpan(bytes)
  } catch (error) {
    if (error instanceof MalformedOtlp) return undefined
    throw error
  }
}

interface Envelope {
  readonly service: string
  readonly resource: readonly string[]
  readonly scopeName: string
  readonly scopeVersion: string
}

function envelopeOf(envelopes: ScopeEnvelopes | undefined): Envelope {
  if (envelopes === undefined) return { service: '', resource: [], scopeName: '', scopeVersion: '' }
  const { resource: sent = {} } = jsonOfProtobuf(
    'ResourceSpans',
    envelopes.resource,
  ) as OtlpJson<'ResourceSpans'>
  const { scope = {} } = jsonOfProtobuf('ScopeSpans', envelopes.scope) as OtlpJson<'ScopeSpans'>
  const resource = valuesOf(sent)
  return {
    service: resource.get('service.name') ?? '',
    resource: [...resource].flat(),
    scopeName: scope.name ?? '',
    scopeVersion: scope.version ?? '',
  }
}

function readAsTree(tree: OtlpJson<'Span'>): Omit<OtelRow, 'envelope'> {
  const { traceId = '', spanId = '', parentSpanId = '', traceState = '', name = '', kind = 0 } = tree
  const { status: { code = 0, message = '' } = {}, events = [], links = [] } = tree
  return {
    span: {
      start: BigInt(tree.startTimeUnixNano ?? 0),
      end: BigInt(tree.endTimeUnixNano ?? 0),
      ...{ traceId, spanId, parentSpanId, traceState, name, kind },
      attributes: attributesOf(tree),
      status: { code, message },
    },
    ...{ events, links },
  }
}

const MOST = 2n ** 63n - 1n

/** Times are signed in ClickHouse, so larger ones are capped. */
const storable = (ns: bigint): bigint => (ns > MOST ? MOST : ns)

/** Keys and values in turn, every value as text, as the Collector writes them. Of a repeated key the last value counts. */
const attributesOf = (told: OtlpJson<'Resource'>): string[] => [...valuesOf(told)].flat()

const valuesOf = ({ attributes = [] }: OtlpJson<'Resource'>): Map<string, string> =>
  new Map(attributes.map(({ key = '', value }) => [key, asText(plain(value))]))

const asText = (value: Json): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** The value that an AnyValue wraps. */
function plain({ arrayValue, kvlistValue, ...value }: OtlpJson<'AnyValue'> = {}): Json {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map((one) => plain(one))
  if (kvlistValue !== undefined)
    return Object.fromEntries((kvlistValue.values ?? []).map((one) => [one.key ?? '', plain(one.value)]))
  return Object.values(value)[0] ?? ''
}
