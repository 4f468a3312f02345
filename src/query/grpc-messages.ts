/* eslint-disable causeway/no-lookup-by-name -- fields have the names of our own tables */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { bytesOf } from '../model/otlp/encode-telemetry.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'

type Scalar = keyof typeof WIRE_TYPES

/** `hex` are ids: bytes on the wire, hexadecimal digits here. `partial` is Tempo's PartialStatus. */
const WIRE_TYPES = {
  string: WireType.LengthDelimited,
  hex: WireType.LengthDelimited,
  bool: WireType.Varint,
  partial: WireType.Varint,
  int32: WireType.Varint,
  uint32: WireType.Varint,
  int64: WireType.Varint,
  uint64: WireType.Varint,
  fixed64: WireType.Bit64,
  double: WireType.Bit64,
} as const

/** `type` is a scalar, or the name of a message. A map has texts for keys. */
type Field = readonly [number: number, type: string, occurs?: 'list' | 'map']
type Message = Readonly<Record<string, Field>>

const SERIES_ENDS = {
  metrics: [2, 'Metrics'],
  status: [3, 'partial'],
  message: [4, 'string'],
} as const satisfies Message

/**
 * The messages of Jaeger's remote storage (jaeger.storage.v2) and of Tempo's StreamingQuerier, as far as they are read or written, under
 * the names that answers in JSON have.
 */
const TABLE = {
  Timestamp: { seconds: [1, 'int64'], nanos: [2, 'int32'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  KeyValueList: { values: [1, 'KeyValue', 'list'] },
  ArrayValue: { values: [1, 'AnyValue', 'list'] },
  AnyValue: {
    stringValue: [1, 'string'],
    boolValue: [2, 'bool'],
    intValue: [3, 'int64'],
    doubleValue: [4, 'double'],
    arrayValue: [5, 'ArrayValue'],
    kvlistValue: [6, 'KeyValueList'],
    bytesValue: [7, 'hex'],
  },
  /** An entry of a map of texts. */
  TextEntry: { key: [1, 'string'], value: [2, 'string'] },
  HealthCheckRequest: { service: [1, 'string'] },
  HealthCheckResponse: { status: [1, 'int32'] },
  /** Of which only matters whether it holds something. */
  Anything: {},

  GetTraceParams: { traceId: [1, 'hex'] },
  GetTracesRequest: { query: [1, 'GetTraceParams', 'list'] },
  GetServicesResponse: { services: [1, 'string', 'list'] },
  GetOperationsRequest: { service: [1, 'string'], spanKind: [2, 'string'] },
  Operation: { name: [1, 'string'], spanKind: [2, 'string'] },
  GetOperationsResponse: { operations: [1, 'Operation', 'list'] },
  TraceQueryParameters: {
    serviceName: [1, 'string'],
    operationName: [2, 'string'],
    attributes: [3, 'KeyValue', 'list'],
    startTimeMin: [4, 'Timestamp'],
    startTimeMax: [5, 'Timestamp'],
    // google.protobuf.Duration has the same fields.
    durationMin: [6, 'Timestamp'],
    durationMax: [7, 'Timestamp'],
    searchDepth: [8, 'int32'],
    filter: [9, 'Anything'],
  },
  FindTracesRequest: { query: [1, 'TraceQueryParameters'] },
  FoundTraceID: { traceId: [1, 'hex'] },
  FindTraceIDsResponse: { traceIds: [1, 'FoundTraceID', 'list'] },
  ServiceSummary: { name: [1, 'string'], spanCount: [2, 'int32'], errorSpanCount: [3, 'int32'] },
  TraceSummary: {
    traceId: [1, 'hex'],
    rootServiceName: [2, 'string'],
    rootOperationName: [3, 'string'],
    minStartTimeUnixNano: [4, 'fixed64'],
    maxEndTimeUnixNano: [5, 'fixed64'],
    spanCount: [6, 'int32'],
    errorSpanCount: [7, 'int32'],
    orphanSpanCount: [8, 'int32'],
    services: [9, 'ServiceSummary', 'list'],
  },
  FindTraceSummariesResponse: { summaries: [1, 'TraceSummary', 'list'] },
  GetDependenciesRequest: { startTime: [1, 'Timestamp'], endTime: [2, 'Timestamp'] },
  Dependency: { parent: [1, 'string'], child: [2, 'string'], callCount: [3, 'uint64'] },
  GetDependenciesResponse: { data: [1, 'Dependency', 'list'] },
  SearchCapabilities: { withoutServiceName: [1, 'bool'], sameSpanConjunction: [2, 'bool'] },
  GetCapabilitiesResponse: { search: [1, 'SearchCapabilities'] },

  SearchRequest: {
    tags: [1, 'string', 'map'],
    minDurationMs: [2, 'uint32'],
    maxDurationMs: [3, 'uint32'],
    limit: [4, 'uint32'],
    start: [5, 'uint32'],
    end: [6, 'uint32'],
    query: [8, 'string'],
    spansPerSpanSet: [9, 'uint32'],
  },
  SearchResponse: { traces: [1, 'TraceSearchMetadata', 'list'], metrics: [2, 'Metrics'] },
  TraceSearchMetadata: {
    traceID: [1, 'string'],
    rootServiceName: [2, 'string'],
    rootTraceName: [3, 'string'],
    startTimeUnixNano: [4, 'uint64'],
    durationMs: [5, 'uint32'],
    spanSet: [6, 'SpanSet'],
    spanSets: [7, 'SpanSet', 'list'],
    serviceStats: [8, 'ServiceStats', 'map'],
  },
  ServiceStats: { spanCount: [1, 'uint32'], errorCount: [2, 'uint32'] },
  SpanSet: {
    spans: [1, 'SpanFound', 'list'],
    matched: [2, 'uint32'],
    attributes: [3, 'KeyValue', 'list'],
  },
  SpanFound: {
    spanID: [1, 'string'],
    name: [2, 'string'],
    startTimeUnixNano: [3, 'uint64'],
    durationNanos: [4, 'uint64'],
    attributes: [5, 'KeyValue', 'list'],
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
  SearchTagsResponse: { tagNames: [1, 'string', 'list'], metrics: [2, 'NamesMetrics'] },
  SearchTagsV2Response: { scopes: [1, 'TagScope', 'list'], metrics: [2, 'NamesMetrics'] },
  TagScope: { name: [1, 'string'], tags: [2, 'string', 'list'] },
  SearchTagValuesRequest: {
    tagName: [1, 'string'],
    query: [2, 'string'],
    start: [4, 'uint32'],
    end: [5, 'uint32'],
    maxTagValues: [6, 'uint32'],
  },
  SearchTagValuesResponse: { tagValues: [1, 'string', 'list'], metrics: [2, 'NamesMetrics'] },
  SearchTagValuesV2Response: { tagValues: [1, 'TagValue', 'list'], metrics: [2, 'NamesMetrics'] },
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
  QueryRangeResponse: { series: [1, 'TimeSeries', 'list'], ...SERIES_ENDS },
  TimeSeries: {
    labels: [1, 'KeyValue', 'list'],
    samples: [2, 'Sample', 'list'],
    exemplars: [4, 'ExemplarFound', 'list'],
  },
  Sample: { value: [1, 'double'], timestampMs: [2, 'int64'] },
  ExemplarFound: { labels: [1, 'KeyValue', 'list'], value: [2, 'double'], timestampMs: [3, 'int64'] },
  QueryInstantRequest: { query: [1, 'string'], start: [2, 'uint64'], end: [3, 'uint64'] },
  QueryInstantResponse: { series: [1, 'InstantSeries', 'list'], ...SERIES_ENDS },
  InstantSeries: { labels: [1, 'KeyValue', 'list'], value: [2, 'double'] },
} as const satisfies Readonly<Record<string, Message>>

export type MessageName = keyof typeof TABLE
const MESSAGES: Readonly<Record<string, Message>> = TABLE

/** Encodes a message; fields that the table lacks are left out. */
export function bytesOfMessage(name: MessageName, object: JsonObject): Buffer {
  const writer = new BinaryWriter()
  writeMessage(writer, name, object)
  return bytesOf(writer)
}

function writeMessage(writer: BinaryWriter, name: string, object: JsonObject): void {
  for (const [key, value] of Object.entries(object)) {
    const [number, type, occurs] = MESSAGES[name]?.[key] ?? []
    if (number === undefined || type === undefined) continue
    if (occurs === 'map')
      for (const [of, one] of Object.entries(value as JsonObject)) {
        writer.tag(number, WireType.LengthDelimited).fork()
        writeValue(writer, 1, 'string', of)
        writeValue(writer, 2, type, one)
        writer.join()
      }
    else
      for (const one of occurs === 'list' ? (value as Json[]) : [value]) writeValue(writer, number, type, one)
  }
}

function writeValue(writer: BinaryWriter, number: number, type: string, value: Json): void {
  if (!isScalar(type)) {
    writer.tag(number, WireType.LengthDelimited).fork()
    writeMessage(writer, type, value as JsonObject)
    writer.join()
    return
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  writer.tag(number, WIRE_TYPES[type])
  switch (type) {
    case 'string':
      writer.string(text.toWellFormed())
      return
    case 'hex':
      writer.bytes(Buffer.from(text, 'hex'))
      return
    case 'bool':
      writer.bool(value === true)
      return
    case 'partial':
      writer.int32(value === 'PARTIAL' ? 1 : 0)
      return
    case 'int32':
      writer.int32(Number(value))
      return
    case 'uint32':
      writer.uint32(Math.min(Number(value), MOST_UINT32))
      return
    case 'int64':
      writer.int64(text)
      return
    case 'uint64':
      writer.uint64(text)
      return
    case 'fixed64':
      writer.fixed64(text)
      return
    case 'double':
      writer.double(Number(value))
  }
}

const MOST_UINT32 = 2 ** 32 - 1
/** Deeper messages are refused. */
const MAX_DEPTH = 32

const isScalar = (type: string): type is Scalar => type in WIRE_TYPES

/**
 * Decodes a message: numbers of 64 bits as texts, ids in hexadecimal digits, a map as its entries, absent fields left out. Throws an
 * Error for invalid bytes.
 */
export function readMessage(name: MessageName, bytes: Uint8Array): JsonObject {
  return readFields(name, new BinaryReader(bytes), bytes.length, 1)
}

function readFields(name: string, reader: BinaryReader, end: number, depth: number): JsonObject {
  if (end > reader.len) throw new RangeError('a message is cut short')
  if (depth > MAX_DEPTH) throw new RangeError(`a message is nested more than ${MAX_DEPTH} deep`)
  const fields = Object.entries(MESSAGES[name] ?? {})
  const into: JsonObject = {}
  while (reader.pos < end) {
    const [number, wire] = reader.tag()
    const [key, field] = fields.find(([, [one]]) => one === number) ?? []
    const wanted = field === undefined ? undefined : wireTypeOf(field)
    if (key === undefined || field === undefined || wire !== wanted) {
      reader.skip(wire, number)
      continue
    }
    const [, type, occurs] = field
    if (occurs === undefined) into[key] = readValue(type, reader, depth)
    else ((into[key] ??= []) as Json[]).push(readValue(occurs === 'map' ? 'TextEntry' : type, reader, depth))
  }
  if (reader.pos !== end) throw new RangeError('a field runs past the end of its message')
  return into
}

const wireTypeOf = ([, type, occurs]: Field): WireType =>
  occurs !== 'map' && isScalar(type) ? WIRE_TYPES[type] : WireType.LengthDelimited

function readValue(type: string, reader: BinaryReader, depth: number): Json {
  if (!isScalar(type)) {
    const length = reader.uint32()
    return readFields(type, reader, reader.pos + length, depth + 1)
  }
  switch (type) {
    case 'string':
      return reader.string()
    case 'hex':
      return Buffer.from(reader.bytes()).toString('hex')
    case 'bool':
      return reader.bool()
    case 'partial':
      return reader.int32() === 1 ? 'PARTIAL' : 'COMPLETE'
    case 'int32':
      return reader.int32()
    case 'uint32':
      return reader.uint32()
    case 'int64':
      return reader.int64().toString()
    case 'uint64':
      return reader.uint64().toString()
    case 'fixed64':
      return reader.fixed64().toString()
    case 'double':
      return reader.double()
  }
}
