import type { ArchivedSentSpan } from '../../model/archive.ts'
import { isOutOfMemory } from '../../model/faults.ts'
import type { OtlpJson } from '../../model/otlp/message-schema.ts'
import { type Json, jsonOfProtobuf } from '../../model/otlp/protobuf-to-json.ts'
import { MalformedOtlp } from '../../model/otlp/protobuf-wire.ts'
import type { ScopeEnvelopes } from '../../model/outbox.ts'
import { plainSpan, type PlainSpan } from './plain-span.ts'

/**
 * The table of spans that the Collector's ClickHouse exporter writes, and that Grafana, ClickStack and Jaeger read: its columns in
 * its order. Here a repeated span replaces itself; the primary key is the Collector's.
 */
const ATTRIBUTES = 'Map(LowCardinality(String), String)'

export const OTEL_COLUMNS: readonly { name: string; type: string }[] = [
  { name: 'Timestamp', type: 'DateTime64(9) CODEC(Delta(8), ZSTD(1))' },
  { name: 'TraceId', type: 'String CODEC(ZSTD(1))' },
  { name: 'SpanId', type: 'String CODEC(ZSTD(1))' },
  { name: 'ParentSpanId', type: 'String CODEC(ZSTD(1))' },
  { name: 'TraceState', type: 'String CODEC(ZSTD(1))' },
  { name: 'SpanName', type: 'LowCardinality(String) CODEC(ZSTD(1))' },
  { name: 'SpanKind', type: 'LowCardinality(String) CODEC(ZSTD(1))' },
  { name: 'ServiceName', type: 'LowCardinality(String) CODEC(ZSTD(1))' },
  { name: 'ResourceAttributes', type: `${ATTRIBUTES} CODEC(ZSTD(1))` },
  { name: 'ScopeName', type: 'String CODEC(ZSTD(1))' },
  { name: 'ScopeVersion', type: 'String CODEC(ZSTD(1))' },
  { name: 'SpanAttributes', type: `${ATTRIBUTES} CODEC(ZSTD(1))` },
  { name: 'Duration', type: 'UInt64 CODEC(ZSTD(1))' },
  { name: 'StatusCode', type: 'LowCardinality(String) CODEC(ZSTD(1))' },
  { name: 'StatusMessage', type: 'String CODEC(ZSTD(1))' },
  { name: 'Events.Timestamp', type: 'Array(DateTime64(9)) CODEC(ZSTD(1))' },
  { name: 'Events.Name', type: 'Array(LowCardinality(String)) CODEC(ZSTD(1))' },
  { name: 'Events.Attributes', type: `Array(${ATTRIBUTES}) CODEC(ZSTD(1))` },
  { name: 'Links.TraceId', type: 'Array(String) CODEC(ZSTD(1))' },
  { name: 'Links.SpanId', type: 'Array(String) CODEC(ZSTD(1))' },
  { name: 'Links.TraceState', type: 'Array(String) CODEC(ZSTD(1))' },
  { name: 'Links.Attributes', type: `Array(${ATTRIBUTES}) CODEC(ZSTD(1))` },
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
export function* otelRows(spans: readonly ArchivedSentSpan[]): Iterable<string> {
  const known = new Map<ScopeEnvelopes | undefined, Envelope>()
  for (const span of spans) {
    const row = rowIfReadable(span, known)
    if (row !== undefined) yield row
  }
}

function rowIfReadable(
  { bytes, envelopes }: ArchivedSentSpan,
  known: Map<ScopeEnvelopes | undefined, Envelope>,
): string | undefined {
  try {
    let envelope = known.get(envelopes)
    if (envelope === undefined) {
      envelope = envelopeOf(envelopes)
      known.set(envelopes, envelope)
    }
    const plain = plainIn(bytes)
    return plain === undefined ? rowOf(jsonOfProtobuf('Span', bytes), envelope) : plainRow(plain, envelope)
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return undefined
  }
}

/** What one reader calls damaged the other may read. */
function plainIn(bytes: Buffer): PlainSpan | undefined {
  try {
    return plainSpan(bytes)
  } catch (error) {
    if (error instanceof MalformedOtlp) return undefined
    throw error
  }
}

/** Its texts are JSON. */
interface Envelope {
  readonly service: string
  readonly resource: string
  readonly scopeName: string
  readonly scopeVersion: string
}

function envelopeOf(envelopes: ScopeEnvelopes | undefined): Envelope {
  if (envelopes === undefined) return { service: '""', resource: '{}', scopeName: '""', scopeVersion: '""' }
  const { resource: sent = {} } = jsonOfProtobuf(
    'ResourceSpans',
    envelopes.resource,
  ) as OtlpJson<'ResourceSpans'>
  const { scope = {} } = jsonOfProtobuf('ScopeSpans', envelopes.scope) as OtlpJson<'ScopeSpans'>
  const resource = attributesOf(sent)
  return {
    service: quoted(resource['service.name'] ?? ''),
    resource: JSON.stringify(resource),
    scopeName: quoted(scope.name ?? ''),
    scopeVersion: quoted(scope.version ?? ''),
  }
}

const KINDS = ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer']
const STATUSES = ['Unset', 'Ok', 'Error']

function plainRow(span: PlainSpan, { service, resource, scopeName, scopeVersion }: Envelope): string {
  const { start, end, traceId, spanId, parentSpanId, traceState, name, kind, attributes, status } = span
  return `[${storable(start)},${traceId},${spanId},${parentSpanId},${traceState},${name},${kindOf(kind)},${service},${resource},${scopeName},${
    scopeVersion
  },{${attributes}},${lasting(start, end)},${statusOf(status.code)},${status.message},[],[],[],[],[],[],[]]`
}

const kindOf = (kind: number): string => quoted(KINDS[kind] ?? 'Unspecified')
const statusOf = (code: number): string => quoted(STATUSES[code] ?? 'Unset')
const lasting = (start: bigint, end: bigint): bigint => (end > start ? end - start : 0n)

function rowOf(span: OtlpJson<'Span'>, { service, resource, scopeName, scopeVersion }: Envelope): string {
  const start = BigInt(span.startTimeUnixNano ?? 0)
  const end = BigInt(span.endTimeUnixNano ?? 0)
  const {
    traceId,
    spanId,
    parentSpanId,
    traceState,
    name,
    kind = 0,
    status = {},
    events = [],
    links = [],
  } = span
  const texts = (all: readonly (string | undefined)[]): string => JSON.stringify(all.map((one) => one ?? ''))
  return `[${[
    storable(start),
    ...[traceId, spanId, parentSpanId, traceState, name].map((text = '') => quoted(text)),
    kindOf(kind),
    ...[service, resource, scopeName, scopeVersion],
    JSON.stringify(attributesOf(span)),
    lasting(start, end),
    statusOf(status.code ?? 0),
    quoted(status.message ?? ''),
    `[${events.map(({ timeUnixNano = 0 }) => storable(BigInt(timeUnixNano))).join()}]`,
    texts(events.map((event) => event.name)),
    JSON.stringify(events.map(attributesOf)),
    texts(links.map((link) => link.traceId)),
    texts(links.map((link) => link.spanId)),
    texts(links.map((link) => link.traceState)),
    JSON.stringify(links.map(attributesOf)),
  ].join()}]`
}

const quoted = (text: string): string => JSON.stringify(text)

const MOST = 2n ** 63n - 1n

/** As ClickHouse keeps times: signed. */
const storable = (ns: bigint): bigint => (ns > MOST ? MOST : ns)

/** Every value as text, as the Collector writes them. */
function attributesOf({ attributes = [] }: OtlpJson<'Resource'>): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key = '', value }) => [key, asText(plain(value))]))
}

const asText = (value: Json): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** The value that an AnyValue wraps. */
function plain({ arrayValue, kvlistValue, ...value }: OtlpJson<'AnyValue'> = {}): Json {
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map((one) => plain(one))
  if (kvlistValue !== undefined)
    return Object.fromEntries((kvlistValue.values ?? []).map((one) => [one.key ?? '', plain(one.value)]))
  return Object.values(value)[0] ?? ''
}
