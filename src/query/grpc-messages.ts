import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { bytesOf } from '../model/otlp/encode-telemetry.ts'
import { ENUMS, type Field, messagesOf, VALUES } from '../model/otlp/message-schema.ts'
import { decoderOf, type Json, type JsonObject } from '../model/otlp/protobuf-to-json.ts'

const SERIES_ENDS = {
  metrics: [2, 'Metrics'],
  status: [3, 'PartialStatus'],
  message: [4, 'string'],
} as const

/**
 * The fields that Causeway reads or writes of the messages of Jaeger's remote storage (jaeger.storage.v2) and Tempo's StreamingQuerier,
 * under the names that JSON answers use.
 */
const MESSAGES = messagesOf({
  Timestamp: { seconds: [1, 'int64'], nanos: [2, 'int64'] },
  ...VALUES,
  /** An entry of a map of strings. */
  TextEntry: { key: [1, 'string'], value: [2, 'string'] },
  HealthCheckRequest: { service: [1, 'string'] },
  HealthCheckResponse: { status: [1, 'uint32'] },
  /** A message of which only matters whether it is empty. */
  Anything: {},

  GetTraceParams: { traceId: [1, 'hexBytes'] },
  GetTracesRequest: { query: [1, 'GetTraceParams', 'many'] },
  GetServicesResponse: { services: [1, 'string', 'many'] },
  GetOperationsRequest: { service: [1, 'string'], spanKind: [2, 'string'] },
  Operation: { name: [1, 'string'], spanKind: [2, 'string'] },
  GetOperationsResponse: { operations: [1, 'Operation', 'many'] },
  TraceQueryParameters: {
    serviceName: [1, 'string'],
    operationName: [2, 'string'],
    attributes: [3, 'KeyValue', 'many'],
    startTimeMin: [4, 'Timestamp'],
    startTimeMax: [5, 'Timestamp'],
    // google.protobuf.Duration has the same fields.
    durationMin: [6, 'Timestamp'],
    durationMax: [7, 'Timestamp'],
    searchDepth: [8, 'int64'],
    filter: [9, 'Anything'],
  },
  FindTracesRequest: { query: [1, 'TraceQueryParameters'] },
  FoundTraceID: { traceId: [1, 'hexBytes'] },
  FindTraceIDsResponse: { traceIds: [1, 'FoundTraceID', 'many'] },
  ServiceSummary: { name: [1, 'string'], spanCount: [2, 'uint32'], errorSpanCount: [3, 'uint32'] },
  TraceSummary: {
    traceId: [1, 'hexBytes'],
    rootServiceName: [2, 'string'],
    rootOperationName: [3, 'string'],
    minStartTimeUnixNano: [4, 'fixed64'],
    maxEndTimeUnixNano: [5, 'fixed64'],
    spanCount: [6, 'uint32'],
    errorSpanCount: [7, 'uint32'],
    orphanSpanCount: [8, 'uint32'],
    services: [9, 'ServiceSummary', 'many'],
  },
  FindTraceSummariesResponse: { summaries: [1, 'TraceSummary', 'many'] },
  GetDependenciesRequest: { startTime: [1, 'Timestamp'], endTime: [2, 'Timestamp'] },
  Dependency: { parent: [1, 'string'], child: [2, 'string'], callCount: [3, 'uint64'] },
  GetDependenciesResponse: { data: [1, 'Dependency', 'many'] },
  SearchCapabilities: { withoutServiceName: [1, 'bool'], sameSpanConjunction: [2, 'bool'] },
  GetCapabilitiesResponse: { search: [1, 'SearchCapabilities'] },

  SearchRequest: {
    tags: [1, 'TextEntry', 'many'],
    minDurationMs: [2, 'uint32'],
    maxDurationMs: [3, 'uint32'],
    limit: [4, 'uint32'],
    start: [5, 'uint32'],
    end: [6, 'uint32'],
    query: [8, 'string'],
    spansPerSpanSet: [9, 'uint32'],
  },
  SearchResponse: { traces: [1, 'TraceSearchMetadata', 'many'], metrics: [2, 'Metrics'] },
  TraceSearchMetadata: {
    traceID: [1, 'string'],
    rootServiceName: [2, 'string'],
    rootTraceName: [3, 'string'],
    startTimeUnixNano: [4, 'uint64'],
    durationMs: [5, 'uint32'],
    spanSet: [6, 'SpanSet'],
    spanSets: [7, 'SpanSet', 'many'],
    serviceStats: [8, 'ServiceStatsEntry', 'many'],
  },
  ServiceStatsEntry: { key: [1, 'string'], value: [2, 'ServiceStats'] },
  ServiceStats: { spanCount: [1, 'uint32'], errorCount: [2, 'uint32'] },
  SpanSet: {
    spans: [1, 'SpanFound', 'many'],
    matched: [2, 'uint32'],
    attributes: [3, 'KeyValue', 'many'],
  },
  SpanFound: {
    spanID: [1, 'string'],
    name: [2, 'string'],
    startTimeUnixNano: [3, 'uint64'],
    durationNanos: [4, 'uint64'],
    attributes: [5, 'KeyValue', 'many'],
  },
  Metrics: {
    inspectedTraces: [1, 'uint32'],
    inspectedBytes: [2, 'uint64'],
    completedJobs: [4, 'uint32'],
    totalJobs: [5, 'uint32'],
    inspectedSpans: [7, 'uint64'],
  },
  NamesMetrics: { inspectedBytes: [1, 'uint64'], totalJobs: [2, 'uint32'], completedJobs: [3, 'uint32'] },
  SearchTagsRequest: {
    scope: [1, 'string'],
    query: [2, 'string'],
    start: [3, 'uint32'],
    end: [4, 'uint32'],
    maxTagsPerScope: [5, 'uint32'],
  },
  SearchTagsResponse: { tagNames: [1, 'string', 'many'], metrics: [2, 'NamesMetrics'] },
  SearchTagsV2Response: { scopes: [1, 'TagScope', 'many'], metrics: [2, 'NamesMetrics'] },
  TagScope: { name: [1, 'string'], tags: [2, 'string', 'many'] },
  SearchTagValuesRequest: {
    tagName: [1, 'string'],
    query: [2, 'string'],
    start: [4, 'uint32'],
    end: [5, 'uint32'],
    maxTagValues: [6, 'uint32'],
  },
  SearchTagValuesResponse: { tagValues: [1, 'string', 'many'], metrics: [2, 'NamesMetrics'] },
  SearchTagValuesV2Response: { tagValues: [1, 'TagValue', 'many'], metrics: [2, 'NamesMetrics'] },
  TagValue: { type: [1, 'string'], value: [2, 'string'] },
  QueryRangeRequest: {
    query: [1, 'string'],
    start: [2, 'uint64'],
    end: [3, 'uint64'],
    step: [4, 'uint64'],
    exemplars: [16, 'uint32'],
    maxSeries: [17, 'uint32'],
    instant: [18, 'bool'],
  },
  QueryRangeResponse: { series: [1, 'TimeSeries', 'many'], ...SERIES_ENDS },
  TimeSeries: {
    labels: [1, 'KeyValue', 'many'],
    samples: [2, 'Sample', 'many'],
    exemplars: [4, 'ExemplarFound', 'many'],
  },
  Sample: { value: [1, 'double'], timestampMs: [2, 'int64'] },
  ExemplarFound: { labels: [1, 'KeyValue', 'many'], value: [2, 'double'], timestampMs: [3, 'int64'] },
  QueryInstantRequest: { query: [1, 'string'], start: [2, 'uint64'], end: [3, 'uint64'] },
  QueryInstantResponse: { series: [1, 'InstantSeries', 'many'], ...SERIES_ENDS },
  InstantSeries: { labels: [1, 'KeyValue', 'many'], value: [2, 'double'] },
})

export type MessageName = keyof typeof MESSAGES

const FIELDS = new Map<string, ReadonlyMap<string, Field<MessageName>>>(
  Object.entries(MESSAGES).map(([name, fields]) => [
    name,
    new Map(fields.map((field) => [field.name, field])),
  ]),
)

/** Decodes a message; absent fields are left out. Throws MalformedOtlp for invalid bytes. */
export const readMessage = decoderOf(MESSAGES)

/** Encodes a message. Fields that MESSAGES lacks are left out. */
export function bytesOfMessage(name: MessageName, object: JsonObject): Buffer {
  const writer = new BinaryWriter()
  writeMessage(writer, name, object)
  return bytesOf(writer)
}

function writeMessage(writer: BinaryWriter, name: MessageName, object: JsonObject): void {
  for (const [key, value] of Object.entries(object)) {
    const field = FIELDS.get(name)?.get(key)
    if (field === undefined) continue
    for (const one of field.occurs === 'many' ? listOf(value) : [value]) {
      writer.tag(field.no, field.wire)
      if (field.type === 'scalar') writeScalar(writer, field, one)
      else {
        writer.fork()
        writeMessage(writer, field.message, one as JsonObject)
        writer.join()
      }
    }
  }
}

/** On the wire a map is a list of entries. */
const listOf = (value: Json): readonly Json[] =>
  Array.isArray(value)
    ? value
    : Object.entries(value as JsonObject).map(([key, one]) => ({ key, value: one }))

const MOST_UINT32 = 2 ** 32 - 1

function writeScalar(
  writer: BinaryWriter,
  field: Extract<Field<MessageName>, { type: 'scalar' }>,
  value: Json,
): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  switch (field.kind) {
    case 'string':
      writer.string(text.toWellFormed())
      return
    case 'bytes':
      writer.bytes(Buffer.from(text, 'base64'))
      return
    case 'hexBytes':
      writer.bytes(Buffer.from(text, 'hex'))
      return
    case 'bool':
      writer.bool(value === true)
      return
    case 'enum':
      writer.int32(Math.max(0, (ENUMS[field.values] as readonly string[]).indexOf(text)))
      return
    case 'uint32':
      writer.uint32(Math.min(Number(value), MOST_UINT32))
      return
    case 'sint32':
    case 'fixed32':
    case 'double':
      writer[field.kind](Number(value))
      return
    case 'int64':
    case 'uint64':
    case 'fixed64':
    case 'sfixed64':
      writer[field.kind](text)
  }
}
