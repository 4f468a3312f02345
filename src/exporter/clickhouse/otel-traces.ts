/* eslint-disable causeway/no-lookup-by-name -- fields have the names of OTLP */
import type { ArchivedSentSpan } from '../../model/archive.ts'
import { isOutOfMemory } from '../../model/faults.ts'
import { type Json, type JsonObject, jsonOfProtobuf } from '../../model/otlp/protobuf-to-json.ts'
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
export function otelRows(spans: readonly ArchivedSentSpan[]): string[] {
  const known = new Map<ScopeEnvelopes | undefined, Envelope>()
  return spans.flatMap(({ bytes, envelopes }) => {
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
      return []
    }
  })
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
  const resource = attributesOf(objectIn(jsonOfProtobuf('ResourceSpans', envelopes.resource), 'resource'))
  const scope = objectIn(jsonOfProtobuf('ScopeSpans', envelopes.scope), 'scope')
  return {
    service: quoted(resource['service.name'] ?? ''),
    resource: JSON.stringify(resource),
    scopeName: quoted(textIn(scope, 'name')),
    scopeVersion: quoted(textIn(scope, 'version')),
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

function rowOf(span: JsonObject, { service, resource, scopeName, scopeVersion }: Envelope): string {
  const start = BigInt(textIn(span, 'startTimeUnixNano') || 0)
  const end = BigInt(textIn(span, 'endTimeUnixNano') || 0)
  const status = objectIn(span, 'status')
  const events = objectsIn(span, 'events')
  const links = objectsIn(span, 'links')
  const texts = (of: JsonObject[], key: string): string => JSON.stringify(of.map((one) => textIn(one, key)))
  const maps = (of: JsonObject[]): string => JSON.stringify(of.map(attributesOf))
  return `[${[
    storable(start),
    ...[textIn(span, 'traceId'), textIn(span, 'spanId'), textIn(span, 'parentSpanId')].map(quoted),
    ...[textIn(span, 'traceState'), textIn(span, 'name')].map(quoted),
    kindOf(Number(span['kind'] ?? 0)),
    ...[service, resource, scopeName, scopeVersion],
    JSON.stringify(attributesOf(span)),
    lasting(start, end),
    statusOf(Number(status['code'] ?? 0)),
    quoted(textIn(status, 'message')),
    `[${events.map((event) => storable(BigInt(textIn(event, 'timeUnixNano') || 0))).join()}]`,
    texts(events, 'name'),
    maps(events),
    ...['traceId', 'spanId', 'traceState'].map((key) => texts(links, key)),
    maps(links),
  ].join()}]`
}

const quoted = (text: string): string => JSON.stringify(text)

const MOST = 2n ** 63n - 1n

/** As ClickHouse keeps times: signed. */
const storable = (ns: bigint): bigint => (ns > MOST ? MOST : ns)

/** Every value as text, as the Collector writes them. */
function attributesOf(of: JsonObject): Record<string, string> {
  return Object.fromEntries(
    objectsIn(of, 'attributes').map((attribute) => [
      textIn(attribute, 'key'),
      asText(plain(objectIn(attribute, 'value'))),
    ]),
  )
}

const asText = (value: Json): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** The value that an AnyValue wraps. */
function plain(value: JsonObject): Json {
  for (const key of ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'bytesValue'])
    if (value[key] !== undefined) return value[key]
  if (value['arrayValue'] !== undefined)
    return objectsIn(objectIn(value, 'arrayValue'), 'values').map((one) => plain(one))
  if (value['kvlistValue'] !== undefined)
    return Object.fromEntries(
      objectsIn(objectIn(value, 'kvlistValue'), 'values').map((one) => [
        textIn(one, 'key'),
        plain(objectIn(one, 'value')),
      ]),
    )
  return ''
}

function textIn(of: JsonObject, key: string): string {
  const value = of[key]
  return value === undefined || typeof value === 'object' ? '' : String(value)
}

function objectIn(of: JsonObject, key: string): JsonObject {
  const value = of[key]
  return typeof value === 'object' && !Array.isArray(value) ? value : {}
}

function objectsIn(of: JsonObject, key: string): JsonObject[] {
  const value = of[key]
  return Array.isArray(value) ? value.filter((one): one is JsonObject => isObject(one)) : []
}

const isObject = (value: Json): value is JsonObject => typeof value === 'object' && !Array.isArray(value)
