import type { Signal } from '../otlp-requests.ts'

/** Names of the OTLP messages that traces, logs and metrics are made of (opentelemetry-proto v1). */
export type MessageName =
  | 'ExportTraceServiceRequest'
  | 'ResourceSpans'
  | 'ScopeSpans'
  | 'Span'
  | 'Event'
  | 'Link'
  | 'Status'
  | 'ExportLogsServiceRequest'
  | 'ResourceLogs'
  | 'ScopeLogs'
  | 'LogRecord'
  | 'ExportMetricsServiceRequest'
  | 'ResourceMetrics'
  | 'ScopeMetrics'
  | 'Metric'
  | 'Gauge'
  | 'Sum'
  | 'NumberDataPoint'
  | 'Histogram'
  | 'HistogramDataPoint'
  | 'ExponentialHistogram'
  | 'ExponentialHistogramDataPoint'
  | 'Buckets'
  | 'Summary'
  | 'SummaryDataPoint'
  | 'ValueAtQuantile'
  | 'Exemplar'
  | 'Resource'
  | 'EntityRef'
  | 'InstrumentationScope'
  | 'KeyValue'
  | 'KeyValueList'
  | 'ArrayValue'
  | 'AnyValue'

/** `hexBytes` are ids: bytes on the wire, hexadecimal digits instead of base64 in JSON. */
export type ScalarKind =
  | 'string'
  | 'bytes'
  | 'hexBytes'
  | 'bool'
  | 'double'
  | 'enum'
  | 'uint32'
  | 'sint32'
  | 'fixed32'
  | 'int64'
  | 'uint64'
  | 'fixed64'
  | 'sfixed64'

const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']

/** The names of the values of each OTLP enum, in the order of their numbers, which begin at 0. */
export const ENUMS = {
  SpanKind: [
    'SPAN_KIND_UNSPECIFIED',
    'SPAN_KIND_INTERNAL',
    'SPAN_KIND_SERVER',
    'SPAN_KIND_CLIENT',
    'SPAN_KIND_PRODUCER',
    'SPAN_KIND_CONSUMER',
  ],
  StatusCode: ['STATUS_CODE_UNSET', 'STATUS_CODE_OK', 'STATUS_CODE_ERROR'],
  SeverityNumber: [
    'SEVERITY_NUMBER_UNSPECIFIED',
    ...SEVERITIES.flatMap((name) => ['', '2', '3', '4'].map((level) => `SEVERITY_NUMBER_${name}${level}`)),
  ],
  AggregationTemporality: [
    'AGGREGATION_TEMPORALITY_UNSPECIFIED',
    'AGGREGATION_TEMPORALITY_DELTA',
    'AGGREGATION_TEMPORALITY_CUMULATIVE',
  ],
} as const satisfies Record<string, readonly string[]>

export type EnumName = keyof typeof ENUMS

/**
 * How often a field may occur; a member of a `oneof` is written even when it holds its type's default, and so is one that is `always`
 * written: it shares its message with other fields.
 */
type Occurrence = 'one' | 'many' | 'oneof' | 'always'

export type Field = { readonly no: number; readonly name: string; readonly occurs: Occurrence } & (
  | { readonly type: 'scalar'; readonly kind: Exclude<ScalarKind, 'enum'> }
  | { readonly type: 'scalar'; readonly kind: 'enum'; readonly values: EnumName }
  | { readonly type: 'message'; readonly message: MessageName }
)

const scalar = (
  no: number,
  name: string,
  kind: Exclude<ScalarKind, 'enum'>,
  occurs: Occurrence = 'one',
): Field => ({ no, name, occurs, type: 'scalar', kind })

const enumeration = (no: number, name: string, values: EnumName): Field => ({
  no,
  name,
  occurs: 'one',
  type: 'scalar',
  kind: 'enum',
  values,
})

const message = (no: number, name: string, of: MessageName, occurs: Occurrence = 'one'): Field => ({
  no,
  name,
  occurs,
  type: 'message',
  message: of,
})

const attributes = (no: number) => message(no, 'attributes', 'KeyValue', 'many')
const temporality = enumeration(2, 'aggregationTemporality', 'AggregationTemporality')
const exemplars = (no: number) => message(no, 'exemplars', 'Exemplar', 'many')
const times = [scalar(2, 'startTimeUnixNano', 'fixed64'), scalar(3, 'timeUnixNano', 'fixed64')]
const droppedAttributes = (no: number) => scalar(no, 'droppedAttributesCount', 'uint32')
/** Of a resource, or of a scope. */
const envelope = (head: Field, name: string, of: MessageName) => [
  head,
  message(2, name, of, 'many'),
  scalar(3, 'schemaUrl', 'string'),
]

/**
 * The fields of every message, under their OTLP/JSON names. The string-table references of KeyValue and AnyValue
 * are left out: they belong to profiles, and elsewhere they count as unknown fields.
 */
export const MESSAGES: Readonly<Record<MessageName, readonly Field[]>> = {
  ExportTraceServiceRequest: [message(1, 'resourceSpans', 'ResourceSpans', 'many')],
  ResourceSpans: envelope(message(1, 'resource', 'Resource'), 'scopeSpans', 'ScopeSpans'),
  ScopeSpans: envelope(message(1, 'scope', 'InstrumentationScope'), 'spans', 'Span'),
  Span: [
    scalar(1, 'traceId', 'hexBytes'),
    scalar(2, 'spanId', 'hexBytes'),
    scalar(3, 'traceState', 'string'),
    scalar(4, 'parentSpanId', 'hexBytes'),
    scalar(5, 'name', 'string'),
    enumeration(6, 'kind', 'SpanKind'),
    scalar(7, 'startTimeUnixNano', 'fixed64'),
    scalar(8, 'endTimeUnixNano', 'fixed64'),
    attributes(9),
    droppedAttributes(10),
    message(11, 'events', 'Event', 'many'),
    scalar(12, 'droppedEventsCount', 'uint32'),
    message(13, 'links', 'Link', 'many'),
    scalar(14, 'droppedLinksCount', 'uint32'),
    message(15, 'status', 'Status'),
    scalar(16, 'flags', 'fixed32'),
  ],
  Event: [
    scalar(1, 'timeUnixNano', 'fixed64'),
    scalar(2, 'name', 'string'),
    attributes(3),
    droppedAttributes(4),
  ],
  Link: [
    scalar(1, 'traceId', 'hexBytes'),
    scalar(2, 'spanId', 'hexBytes'),
    scalar(3, 'traceState', 'string'),
    attributes(4),
    droppedAttributes(5),
    scalar(6, 'flags', 'fixed32'),
  ],
  Status: [scalar(2, 'message', 'string'), enumeration(3, 'code', 'StatusCode')],
  ExportLogsServiceRequest: [message(1, 'resourceLogs', 'ResourceLogs', 'many')],
  ResourceLogs: envelope(message(1, 'resource', 'Resource'), 'scopeLogs', 'ScopeLogs'),
  ScopeLogs: envelope(message(1, 'scope', 'InstrumentationScope'), 'logRecords', 'LogRecord'),
  LogRecord: [
    scalar(1, 'timeUnixNano', 'fixed64'),
    enumeration(2, 'severityNumber', 'SeverityNumber'),
    scalar(3, 'severityText', 'string'),
    message(5, 'body', 'AnyValue'),
    attributes(6),
    droppedAttributes(7),
    scalar(8, 'flags', 'fixed32'),
    scalar(9, 'traceId', 'hexBytes'),
    scalar(10, 'spanId', 'hexBytes'),
    scalar(11, 'observedTimeUnixNano', 'fixed64'),
    scalar(12, 'eventName', 'string'),
  ],
  ExportMetricsServiceRequest: [message(1, 'resourceMetrics', 'ResourceMetrics', 'many')],
  ResourceMetrics: envelope(message(1, 'resource', 'Resource'), 'scopeMetrics', 'ScopeMetrics'),
  ScopeMetrics: envelope(message(1, 'scope', 'InstrumentationScope'), 'metrics', 'Metric'),
  Metric: [
    scalar(1, 'name', 'string'),
    scalar(2, 'description', 'string'),
    scalar(3, 'unit', 'string'),
    message(5, 'gauge', 'Gauge'),
    message(7, 'sum', 'Sum'),
    message(9, 'histogram', 'Histogram'),
    message(10, 'exponentialHistogram', 'ExponentialHistogram'),
    message(11, 'summary', 'Summary'),
    message(12, 'metadata', 'KeyValue', 'many'),
  ],
  Gauge: [message(1, 'dataPoints', 'NumberDataPoint', 'many')],
  Sum: [message(1, 'dataPoints', 'NumberDataPoint', 'many'), temporality, scalar(3, 'isMonotonic', 'bool')],
  NumberDataPoint: [
    ...times,
    scalar(4, 'asDouble', 'double', 'always'),
    exemplars(5),
    scalar(6, 'asInt', 'sfixed64', 'always'),
    attributes(7),
    scalar(8, 'flags', 'uint32'),
  ],
  Histogram: [message(1, 'dataPoints', 'HistogramDataPoint', 'many'), temporality],
  HistogramDataPoint: [
    ...times,
    scalar(4, 'count', 'fixed64'),
    scalar(5, 'sum', 'double', 'always'),
    scalar(6, 'bucketCounts', 'fixed64', 'many'),
    scalar(7, 'explicitBounds', 'double', 'many'),
    exemplars(8),
    attributes(9),
    scalar(10, 'flags', 'uint32'),
    scalar(11, 'min', 'double', 'always'),
    scalar(12, 'max', 'double', 'always'),
  ],
  ExponentialHistogram: [message(1, 'dataPoints', 'ExponentialHistogramDataPoint', 'many'), temporality],
  ExponentialHistogramDataPoint: [
    attributes(1),
    ...times,
    scalar(4, 'count', 'fixed64'),
    scalar(5, 'sum', 'double', 'always'),
    scalar(6, 'scale', 'sint32'),
    scalar(7, 'zeroCount', 'fixed64'),
    message(8, 'positive', 'Buckets'),
    message(9, 'negative', 'Buckets'),
    scalar(10, 'flags', 'uint32'),
    exemplars(11),
    scalar(12, 'min', 'double', 'always'),
    scalar(13, 'max', 'double', 'always'),
    scalar(14, 'zeroThreshold', 'double'),
  ],
  Buckets: [scalar(1, 'offset', 'sint32'), scalar(2, 'bucketCounts', 'uint64', 'many')],
  Summary: [message(1, 'dataPoints', 'SummaryDataPoint', 'many')],
  SummaryDataPoint: [
    ...times,
    scalar(4, 'count', 'fixed64'),
    scalar(5, 'sum', 'double'),
    message(6, 'quantileValues', 'ValueAtQuantile', 'many'),
    attributes(7),
    scalar(8, 'flags', 'uint32'),
  ],
  ValueAtQuantile: [scalar(1, 'quantile', 'double'), scalar(2, 'value', 'double')],
  Exemplar: [
    scalar(2, 'timeUnixNano', 'fixed64'),
    scalar(3, 'asDouble', 'double', 'always'),
    scalar(4, 'spanId', 'hexBytes'),
    scalar(5, 'traceId', 'hexBytes'),
    scalar(6, 'asInt', 'sfixed64', 'always'),
    message(7, 'filteredAttributes', 'KeyValue', 'many'),
  ],
  Resource: [attributes(1), droppedAttributes(2), message(3, 'entityRefs', 'EntityRef', 'many')],
  EntityRef: [
    scalar(1, 'schemaUrl', 'string'),
    scalar(2, 'type', 'string'),
    scalar(3, 'idKeys', 'string', 'many'),
    scalar(4, 'descriptionKeys', 'string', 'many'),
  ],
  InstrumentationScope: [
    scalar(1, 'name', 'string'),
    scalar(2, 'version', 'string'),
    attributes(3),
    droppedAttributes(4),
  ],
  KeyValue: [scalar(1, 'key', 'string'), message(2, 'value', 'AnyValue')],
  KeyValueList: [message(1, 'values', 'KeyValue', 'many')],
  ArrayValue: [message(1, 'values', 'AnyValue', 'many')],
  AnyValue: [
    scalar(1, 'stringValue', 'string', 'oneof'),
    scalar(2, 'boolValue', 'bool', 'oneof'),
    scalar(3, 'intValue', 'int64', 'oneof'),
    scalar(4, 'doubleValue', 'double', 'oneof'),
    message(5, 'arrayValue', 'ArrayValue', 'oneof'),
    message(6, 'kvlistValue', 'KeyValueList', 'oneof'),
    scalar(7, 'bytesValue', 'bytes', 'oneof'),
  ],
}

/** The request message of each signal's Export method. */
export const EXPORT_REQUEST: Readonly<Record<Signal, MessageName>> = {
  traces: 'ExportTraceServiceRequest',
  logs: 'ExportLogsServiceRequest',
  metrics: 'ExportMetricsServiceRequest',
}

/**
 * How many messages may lie within one another, the request itself included: nineteen maps of maps in one
 * attribute. Deeper ones would only serve to exhaust the stack.
 */
export const MAX_DEPTH = 64
