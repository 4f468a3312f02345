import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { CLUSTER_NAME, SERVICE_NAME } from '../attributes.ts'
import type { UnixNanos } from '../time-and-size.ts'
import { bufferOf } from './protobuf-wire.ts'

/** The default limit of links per span in OpenTelemetry SDKs. Links beyond it are dropped, and counted in dropped_links_count. */
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

/** The bytes of an OTLP Span that Causeway adds. */
export function encodeSpan(span: NewSpan): Buffer {
  return bytesOf(writeSpan(new BinaryWriter(), span))
}

/** Writes the fields of an OTLP Span that Causeway adds. Nested messages are written in place, without copying. */
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

/** The bytes written, as a Buffer that shares their memory. */
export function bytesOf(writer: BinaryWriter): Buffer {
  return bufferOf(writer.finish())
}

export function spanIdBytes(id: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(id)
  return bytes
}

/** A span id as 16 lower-case hex digits. */
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
  /** OTLP's SeverityNumber; 0 if unknown. */
  severity: number
  severityText: string
  body: string
  attributes: Record<string, AttributeValue>
}

/** The bytes of an OTLP LogRecord that Causeway makes. */
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

/** A ResourceSpans without scopes. Its resource has a service name and, if given, a cluster. */
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
