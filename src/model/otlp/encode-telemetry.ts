import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { CLUSTER_NAME, SERVICE_NAME } from '../attributes.ts'
import type { HistogramSeries } from '../linker-settings-and-metrics.ts'
import { nanosOfMs, type UnixNanos } from '../time-and-size.ts'
import { bufferOf } from './protobuf-wire.ts'

/** OTLP's limit on a span's links as SDKs apply it; what is cut is counted in dropped_links_count. */
export const MAX_LINKS = 128

export type AttributeValue = string | boolean | bigint | readonly string[]

export interface SpanLink {
  traceId: Uint8Array
  spanId: bigint
  attributes?: Record<string, AttributeValue>
}

export interface SpanEvent {
  name: string
  timeNs: UnixNanos
  attributes: Record<string, AttributeValue>
}

export interface NewSpan {
  traceId: Uint8Array
  spanId: bigint
  /** 0n for none. */
  parentId: bigint
  name: string
  startNs: UnixNanos
  endNs: UnixNanos
  attributes: Record<string, AttributeValue>
  links: readonly SpanLink[]
  events?: readonly SpanEvent[]
}

const INTERNAL = 1

/** The bytes of an OTLP Span of Causeway's own making. */
export function encodeSpan(span: NewSpan): Buffer {
  return bytesOf(writeSpan(new BinaryWriter(), span))
}

/** Writes the fields of an OTLP Span of Causeway's own making. What stands inside others is written in place: nothing is copied. */
export function writeSpan(writer: BinaryWriter, span: NewSpan): BinaryWriter {
  writer.tag(1, WireType.LengthDelimited).bytes(span.traceId)
  writer.tag(2, WireType.LengthDelimited).bytes(spanIdBytes(span.spanId))
  if (span.parentId !== 0n) writer.tag(4, WireType.LengthDelimited).bytes(spanIdBytes(span.parentId))
  writer.tag(5, WireType.LengthDelimited).string(span.name)
  writer.tag(6, WireType.Varint).int32(INTERNAL)
  writer.tag(7, WireType.Bit64).fixed64(span.startNs)
  writer.tag(8, WireType.Bit64).fixed64(span.endNs)
  writeAttributes(writer, 9, span.attributes)
  for (const event of span.events ?? []) {
    writeEvent(writer.tag(11, WireType.LengthDelimited).fork(), event).join()
  }
  for (const link of span.links.slice(0, MAX_LINKS)) {
    writeLink(writer.tag(13, WireType.LengthDelimited).fork(), link).join()
  }
  if (span.links.length > MAX_LINKS) writer.tag(14, WireType.Varint).uint32(span.links.length - MAX_LINKS)
  return writer
}

/** The bytes of an OTLP KeyValue. */
export function encodeAttribute(key: string, value: AttributeValue): Uint8Array {
  return writeAttribute(new BinaryWriter(), key, value).finish()
}

/** The bytes of an OTLP Span.Link. */
export function encodeLink(link: SpanLink): Uint8Array {
  return writeLink(new BinaryWriter(), link).finish()
}

/** What was written, as a Buffer over the same bytes. */
export function bytesOf(writer: BinaryWriter): Buffer {
  return bufferOf(writer.finish())
}

export function spanIdBytes(id: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(id)
  return bytes
}

/** 16 lower-case hex digits. */
export function spanIdHex(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16).padStart(16, '0')
}

function writeLink(writer: BinaryWriter, link: SpanLink): BinaryWriter {
  writer.tag(1, WireType.LengthDelimited).bytes(link.traceId)
  writer.tag(2, WireType.LengthDelimited).bytes(spanIdBytes(link.spanId))
  if (link.attributes !== undefined) writeAttributes(writer, 4, link.attributes)
  return writer
}

function writeEvent(writer: BinaryWriter, { name, timeNs, attributes }: SpanEvent): BinaryWriter {
  writer.tag(1, WireType.Bit64).fixed64(timeNs)
  writer.tag(2, WireType.LengthDelimited).string(name)
  writeAttributes(writer, 3, attributes)
  return writer
}

function writeAttributes(
  writer: BinaryWriter,
  field: number,
  attributes: Record<string, AttributeValue>,
): void {
  for (const [key, value] of Object.entries(attributes))
    writeAttribute(writer.tag(field, WireType.LengthDelimited).fork(), key, value).join()
}

function writeAttribute(writer: BinaryWriter, key: string, value: AttributeValue): BinaryWriter {
  writer.tag(1, WireType.LengthDelimited).string(key)
  return writeAnyValue(writer.tag(2, WireType.LengthDelimited).fork(), value).join()
}

function writeAnyValue(writer: BinaryWriter, value: AttributeValue): BinaryWriter {
  if (typeof value === 'string') return writer.tag(1, WireType.LengthDelimited).string(value)
  if (typeof value === 'boolean') return writer.tag(2, WireType.Varint).bool(value)
  if (typeof value === 'bigint') return writer.tag(3, WireType.Varint).int64(value)
  writer.tag(5, WireType.LengthDelimited).fork()
  for (const element of value) writeAnyValue(writer.tag(1, WireType.LengthDelimited).fork(), element).join()
  return writer.join()
}

interface NewLogRecord {
  timeNs: UnixNanos
  observedNs: UnixNanos
  /** OTLP's SeverityNumber; 0 where it is not known. */
  severity: number
  severityText: string
  body: string
  attributes: Record<string, AttributeValue>
}

/** The bytes of an OTLP LogRecord of Causeway's own making. */
export function encodeLogRecord(record: NewLogRecord): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Bit64).fixed64(record.timeNs)
  if (record.severity !== 0) writer.tag(2, WireType.Varint).int32(record.severity)
  if (record.severityText !== '') writer.tag(3, WireType.LengthDelimited).string(record.severityText)
  const body = new BinaryWriter().tag(1, WireType.LengthDelimited).string(record.body)
  writer.tag(5, WireType.LengthDelimited).bytes(body.finish())
  for (const [key, value] of Object.entries(record.attributes))
    writer.tag(6, WireType.LengthDelimited).bytes(encodeAttribute(key, value))
  writer.tag(11, WireType.Bit64).fixed64(record.observedNs)
  return writer.finish()
}

/** A ResourceSpans without scopes whose resource has only a service name, and a cluster where it has one. */
export function serviceEnvelope(service: string, cluster = ''): Buffer {
  const resource = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .bytes(encodeAttribute(SERVICE_NAME, service))
  if (cluster !== '') resource.tag(1, WireType.LengthDelimited).bytes(encodeAttribute(CLUSTER_NAME, cluster))
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(resource.finish()).finish())
}

/** A ScopeSpans without spans whose scope has only a name. */
export function scopeEnvelope(name: string): Buffer {
  const scope = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name)
  return Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(scope.finish()).finish())
}

/** A metric of Causeway's own making; everything is counted from the start of the process (cumulative). */
export type OwnMetric = { name: string; description: string; unit: string } & (
  | { kind: 'sum'; value: number }
  | {
      kind: 'histogram'
      labelNames: readonly string[]
      bounds: readonly number[]
      series: readonly HistogramSeries[]
    }
)

interface MetricTimes {
  startMs: number
  nowMs: number
}

const CUMULATIVE = 2

/** An ExportMetricsServiceRequest of Causeway's own metrics, under its resource attributes. */
export function encodeMetrics(
  resource: Readonly<Record<string, string>>,
  metrics: readonly OwnMetric[],
  times: MetricTimes,
): Buffer {
  const attributes = message((to) => {
    for (const [key, value] of Object.entries(resource)) bytes(to, 1, encodeAttribute(key, value))
  })
  const scoped = message((to) => {
    to.raw(scopeEnvelope('causeway'))
    for (const metric of metrics) bytes(to, 2, encodeMetric(metric, times))
  })
  const group = message((to) => bytes(bytes(to, 1, attributes), 2, scoped))
  return Buffer.from(message((to) => bytes(to, 1, group)))
}

/** How many points the metrics hold. */
export function countPoints(metrics: readonly OwnMetric[]): number {
  return metrics.reduce((sum, metric) => sum + (metric.kind === 'sum' ? 1 : metric.series.length), 0)
}

function encodeMetric(metric: OwnMetric, times: MetricTimes): Uint8Array {
  return message((to) => {
    to.tag(1, WireType.LengthDelimited).string(metric.name)
    to.tag(2, WireType.LengthDelimited).string(metric.description)
    to.tag(3, WireType.LengthDelimited).string(metric.unit)
    if (metric.kind === 'sum') bytes(to, 7, encodeSum(metric.value, times))
    else bytes(to, 9, encodeHistogram(metric, times))
  })
}

function encodeSum(value: number, times: MetricTimes): Uint8Array {
  const point = message((to) => {
    writeTimes(to, times)
    to.tag(6, WireType.Bit64).sfixed64(BigInt(value))
  })
  return message((to) => {
    bytes(to, 1, point)
    to.tag(2, WireType.Varint).int32(CUMULATIVE)
    to.tag(3, WireType.Varint).bool(true)
  })
}

function encodeHistogram(metric: OwnMetric & { kind: 'histogram' }, times: MetricTimes): Uint8Array {
  return message((to) => {
    for (const series of metric.series) bytes(to, 1, encodePoint(metric, series, times))
    to.tag(2, WireType.Varint).int32(CUMULATIVE)
  })
}

function encodePoint(
  { labelNames, bounds }: OwnMetric & { kind: 'histogram' },
  { labels, counts, sum, exemplars }: HistogramSeries,
  times: MetricTimes,
): Uint8Array {
  return message((to) => {
    labelNames.forEach((name, at) => bytes(to, 9, encodeAttribute(name, labels[at] ?? '')))
    writeTimes(to, times)
    const total = counts.reduce((all, count) => all + count, 0)
    to.tag(4, WireType.Bit64).fixed64(BigInt(total))
    to.tag(5, WireType.Bit64).double(sum)
    to.tag(6, WireType.LengthDelimited).fork()
    for (const count of counts) to.fixed64(BigInt(count))
    to.join().tag(7, WireType.LengthDelimited).fork()
    for (const bound of bounds) to.double(bound)
    to.join()
    for (const exemplar of exemplars) {
      if (exemplar === undefined) continue
      const { value, timeMs, traceId, spanId } = exemplar
      const encoded = message((inner) => {
        inner.tag(2, WireType.Bit64).fixed64(nanosOfMs(timeMs))
        inner.tag(3, WireType.Bit64).double(value)
        bytes(inner, 4, Buffer.from(spanId, 'hex'))
        bytes(inner, 5, Buffer.from(traceId, 'hex'))
      })
      bytes(to, 8, encoded)
    }
  })
}

function writeTimes(to: BinaryWriter, { startMs, nowMs }: MetricTimes): void {
  to.tag(2, WireType.Bit64).fixed64(nanosOfMs(startMs))
  to.tag(3, WireType.Bit64).fixed64(nanosOfMs(nowMs))
}

function message(write: (to: BinaryWriter) => unknown): Uint8Array {
  const writer = new BinaryWriter()
  write(writer)
  return writer.finish()
}

function bytes(to: BinaryWriter, no: number, contents: Uint8Array): BinaryWriter {
  return to.tag(no, WireType.LengthDelimited).bytes(contents)
}
