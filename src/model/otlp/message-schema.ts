import { WireType } from '@bufbuild/protobuf/wire'
import type { Signal } from '../otlp-requests.ts'

/** The wire type of each kind of scalar. `hexBytes` are ids: bytes in protobuf, and hex digits (not base64) in JSON. */
const WIRE_TYPES = {
  string: WireType.LengthDelimited,
  bytes: WireType.LengthDelimited,
  hexBytes: WireType.LengthDelimited,
  bool: WireType.Varint,
  enum: WireType.Varint,
  uint32: WireType.Varint,
  sint32: WireType.Varint,
  int64: WireType.Varint,
  uint64: WireType.Varint,
  fixed32: WireType.Bit32,
  double: WireType.Bit64,
  fixed64: WireType.Bit64,
  sfixed64: WireType.Bit64,
} as const

export type ScalarKind = keyof typeof WIRE_TYPES
type Scalar = Exclude<ScalarKind, 'enum'>

const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']

/** The names of enum values; the index is the number. */
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
  /** An enum of Tempo's API. */
  PartialStatus: ['COMPLETE', 'PARTIAL'],
} as const satisfies Record<string, readonly string[]>

export type EnumName = keyof typeof ENUMS

/**
 * How often a field may occur. A field of a `oneof` is written even if it has its default value, and so is an `always` field, whose message
 * has other fields as well.
 */
type Occurrence = 'one' | 'many' | 'oneof' | 'always'

export type Field<Message extends string = MessageName> = {
  readonly no: number
  readonly name: string
  readonly occurs: Occurrence
  /** Its wire type, unless numbers are packed. */
  readonly wire: WireType
} & (
  | { readonly type: 'scalar'; readonly kind: Scalar }
  | { readonly type: 'scalar'; readonly kind: 'enum'; readonly values: EnumName }
  | { readonly type: 'message'; readonly message: Message }
)

/** Fields by message and JSON name: number; type (scalar, enum or message); occurrence. */
type Table<Message extends string> = Readonly<
  Record<
    Message,
    Readonly<
      Record<string, readonly [no: number, of: Scalar | EnumName | NoInfer<Message>, occurs?: Occurrence]>
    >
  >
>

export type Messages<Message extends string> = Readonly<Record<Message, readonly Field<Message>[]>>

export function messagesOf<Message extends string>(table: Table<Message>): Messages<Message> {
  const entries = Object.entries<Table<Message>[Message]>(table).map(([message, fields]) => [
    message,
    Object.entries(fields).map(([name, [no, of, occurs = 'one']]): Field<Message> => {
      const field = { no, name, occurs }
      if (isScalar(of)) return { ...field, type: 'scalar', kind: of, wire: WIRE_TYPES[of] }
      if (isEnum(of)) return { ...field, type: 'scalar', kind: 'enum', values: of, wire: WIRE_TYPES.enum }
      return { ...field, type: 'message', message: of, wire: WireType.LengthDelimited }
    }),
  ])
  return Object.fromEntries(entries) as Messages<Message>
}

const isScalar = (of: string): of is Scalar => Object.hasOwn(WIRE_TYPES, of)
const isEnum = (of: string): of is EnumName => Object.hasOwn(ENUMS, of)

/** The messages of attribute values. */
export const VALUES = {
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  KeyValueList: { values: [1, 'KeyValue', 'many'] },
  ArrayValue: { values: [1, 'AnyValue', 'many'] },
  AnyValue: {
    stringValue: [1, 'string', 'oneof'],
    boolValue: [2, 'bool', 'oneof'],
    intValue: [3, 'int64', 'oneof'],
    doubleValue: [4, 'double', 'oneof'],
    arrayValue: [5, 'ArrayValue', 'oneof'],
    kvlistValue: [6, 'KeyValueList', 'oneof'],
    bytesValue: [7, 'bytes', 'oneof'],
  },
} as const

/**
 * The messages of traces, logs and metrics (opentelemetry-proto v1). The string-table references of KeyValue and AnyValue are left out:
 * they are for profiles, and count as unknown fields here.
 */
const OTLP = {
  ExportTraceServiceRequest: { resourceSpans: [1, 'ResourceSpans', 'many'] },
  ResourceSpans: {
    resource: [1, 'Resource'],
    scopeSpans: [2, 'ScopeSpans', 'many'],
    schemaUrl: [3, 'string'],
  },
  ScopeSpans: { scope: [1, 'InstrumentationScope'], spans: [2, 'Span', 'many'], schemaUrl: [3, 'string'] },
  Span: {
    traceId: [1, 'hexBytes'],
    spanId: [2, 'hexBytes'],
    traceState: [3, 'string'],
    parentSpanId: [4, 'hexBytes'],
    name: [5, 'string'],
    kind: [6, 'SpanKind'],
    startTimeUnixNano: [7, 'fixed64'],
    endTimeUnixNano: [8, 'fixed64'],
    attributes: [9, 'KeyValue', 'many'],
    droppedAttributesCount: [10, 'uint32'],
    events: [11, 'Event', 'many'],
    droppedEventsCount: [12, 'uint32'],
    links: [13, 'Link', 'many'],
    droppedLinksCount: [14, 'uint32'],
    status: [15, 'Status'],
    flags: [16, 'fixed32'],
  },
  Event: {
    timeUnixNano: [1, 'fixed64'],
    name: [2, 'string'],
    attributes: [3, 'KeyValue', 'many'],
    droppedAttributesCount: [4, 'uint32'],
  },
  Link: {
    traceId: [1, 'hexBytes'],
    spanId: [2, 'hexBytes'],
    traceState: [3, 'string'],
    attributes: [4, 'KeyValue', 'many'],
    droppedAttributesCount: [5, 'uint32'],
    flags: [6, 'fixed32'],
  },
  Status: { message: [2, 'string'], code: [3, 'StatusCode'] },
  ExportLogsServiceRequest: { resourceLogs: [1, 'ResourceLogs', 'many'] },
  ResourceLogs: { resource: [1, 'Resource'], scopeLogs: [2, 'ScopeLogs', 'many'], schemaUrl: [3, 'string'] },
  ScopeLogs: {
    scope: [1, 'InstrumentationScope'],
    logRecords: [2, 'LogRecord', 'many'],
    schemaUrl: [3, 'string'],
  },
  LogRecord: {
    timeUnixNano: [1, 'fixed64'],
    severityNumber: [2, 'SeverityNumber'],
    severityText: [3, 'string'],
    body: [5, 'AnyValue'],
    attributes: [6, 'KeyValue', 'many'],
    droppedAttributesCount: [7, 'uint32'],
    flags: [8, 'fixed32'],
    traceId: [9, 'hexBytes'],
    spanId: [10, 'hexBytes'],
    observedTimeUnixNano: [11, 'fixed64'],
    eventName: [12, 'string'],
  },
  ExportMetricsServiceRequest: { resourceMetrics: [1, 'ResourceMetrics', 'many'] },
  ResourceMetrics: {
    resource: [1, 'Resource'],
    scopeMetrics: [2, 'ScopeMetrics', 'many'],
    schemaUrl: [3, 'string'],
  },
  ScopeMetrics: {
    scope: [1, 'InstrumentationScope'],
    metrics: [2, 'Metric', 'many'],
    schemaUrl: [3, 'string'],
  },
  Metric: {
    name: [1, 'string'],
    description: [2, 'string'],
    unit: [3, 'string'],
    gauge: [5, 'Gauge'],
    sum: [7, 'Sum'],
    histogram: [9, 'Histogram'],
    exponentialHistogram: [10, 'ExponentialHistogram'],
    summary: [11, 'Summary'],
    metadata: [12, 'KeyValue', 'many'],
  },
  Gauge: { dataPoints: [1, 'NumberDataPoint', 'many'] },
  Sum: {
    dataPoints: [1, 'NumberDataPoint', 'many'],
    aggregationTemporality: [2, 'AggregationTemporality'],
    isMonotonic: [3, 'bool'],
  },
  NumberDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    asDouble: [4, 'double', 'always'],
    exemplars: [5, 'Exemplar', 'many'],
    asInt: [6, 'sfixed64', 'always'],
    attributes: [7, 'KeyValue', 'many'],
    flags: [8, 'uint32'],
  },
  Histogram: {
    dataPoints: [1, 'HistogramDataPoint', 'many'],
    aggregationTemporality: [2, 'AggregationTemporality'],
  },
  HistogramDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double', 'always'],
    bucketCounts: [6, 'fixed64', 'many'],
    explicitBounds: [7, 'double', 'many'],
    exemplars: [8, 'Exemplar', 'many'],
    attributes: [9, 'KeyValue', 'many'],
    flags: [10, 'uint32'],
    min: [11, 'double', 'always'],
    max: [12, 'double', 'always'],
  },
  ExponentialHistogram: {
    dataPoints: [1, 'ExponentialHistogramDataPoint', 'many'],
    aggregationTemporality: [2, 'AggregationTemporality'],
  },
  ExponentialHistogramDataPoint: {
    attributes: [1, 'KeyValue', 'many'],
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double', 'always'],
    scale: [6, 'sint32'],
    zeroCount: [7, 'fixed64'],
    positive: [8, 'Buckets'],
    negative: [9, 'Buckets'],
    flags: [10, 'uint32'],
    exemplars: [11, 'Exemplar', 'many'],
    min: [12, 'double', 'always'],
    max: [13, 'double', 'always'],
    zeroThreshold: [14, 'double'],
  },
  Buckets: { offset: [1, 'sint32'], bucketCounts: [2, 'uint64', 'many'] },
  Summary: { dataPoints: [1, 'SummaryDataPoint', 'many'] },
  SummaryDataPoint: {
    startTimeUnixNano: [2, 'fixed64'],
    timeUnixNano: [3, 'fixed64'],
    count: [4, 'fixed64'],
    sum: [5, 'double'],
    quantileValues: [6, 'ValueAtQuantile', 'many'],
    attributes: [7, 'KeyValue', 'many'],
    flags: [8, 'uint32'],
  },
  ValueAtQuantile: { quantile: [1, 'double'], value: [2, 'double'] },
  Exemplar: {
    timeUnixNano: [2, 'fixed64'],
    asDouble: [3, 'double', 'always'],
    spanId: [4, 'hexBytes'],
    traceId: [5, 'hexBytes'],
    asInt: [6, 'sfixed64', 'always'],
    filteredAttributes: [7, 'KeyValue', 'many'],
  },
  Resource: {
    attributes: [1, 'KeyValue', 'many'],
    droppedAttributesCount: [2, 'uint32'],
    entityRefs: [3, 'EntityRef', 'many'],
  },
  EntityRef: {
    schemaUrl: [1, 'string'],
    type: [2, 'string'],
    idKeys: [3, 'string', 'many'],
    descriptionKeys: [4, 'string', 'many'],
  },
  InstrumentationScope: {
    name: [1, 'string'],
    version: [2, 'string'],
    attributes: [3, 'KeyValue', 'many'],
    droppedAttributesCount: [4, 'uint32'],
  },
  ...VALUES,
} as const

export const MESSAGES = messagesOf(OTLP)

export type MessageName = keyof typeof OTLP

type NumberKind = 'enum' | 'uint32' | 'sint32' | 'fixed32' | EnumName

type FieldJson<Of, Occurs> = Occurs extends 'many'
  ? FieldJson<Of, 'one'>[]
  : Of extends MessageName
    ? OtlpJson<Of>
    : Of extends NumberKind
      ? number
      : Of extends 'bool'
        ? boolean
        : Of extends 'double'
          ? number | string
          : string

/** The type of a message in OTLP/JSON. */
export type OtlpJson<Message extends MessageName> = {
  -readonly [Name in keyof (typeof OTLP)[Message]]?: (typeof OTLP)[Message][Name] extends readonly [
    number,
    infer Of,
    (infer Occurs)?,
  ]
    ? FieldJson<Of, Occurs>
    : never
}

/** The request message that exports each signal. */
export const EXPORT_REQUEST: Readonly<Record<Signal, MessageName>> = {
  traces: 'ExportTraceServiceRequest',
  logs: 'ExportLogsServiceRequest',
  metrics: 'ExportMetricsServiceRequest',
}

/** The deepest nesting of messages, including the request: 19 nested maps in an attribute. Deeper ones would only exhaust the stack. */
export const MAX_DEPTH = 64
