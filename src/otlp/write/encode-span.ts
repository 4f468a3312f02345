import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { UnixNanos } from '../../model/clock.ts'

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
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).bytes(span.traceId)
  writer.tag(2, WireType.LengthDelimited).bytes(spanIdBytes(span.spanId))
  if (span.parentId !== 0n) writer.tag(4, WireType.LengthDelimited).bytes(spanIdBytes(span.parentId))
  writer.tag(5, WireType.LengthDelimited).string(span.name)
  writer.tag(6, WireType.Varint).int32(INTERNAL)
  writer.tag(7, WireType.Bit64).fixed64(span.startNs)
  writer.tag(8, WireType.Bit64).fixed64(span.endNs)
  for (const [key, value] of Object.entries(span.attributes)) {
    writer.tag(9, WireType.LengthDelimited).bytes(encodeAttribute(key, value))
  }
  for (const event of span.events ?? []) {
    writer.tag(11, WireType.LengthDelimited).bytes(encodeEvent(event))
  }
  for (const link of span.links.slice(0, MAX_LINKS)) {
    writer.tag(13, WireType.LengthDelimited).bytes(encodeLink(link))
  }
  if (span.links.length > MAX_LINKS) writer.tag(14, WireType.Varint).uint32(span.links.length - MAX_LINKS)
  return Buffer.from(writer.finish())
}

/** The bytes of an OTLP KeyValue. */
export function encodeAttribute(key: string, value: AttributeValue): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).string(key)
  writer.tag(2, WireType.LengthDelimited).bytes(encodeAnyValue(value))
  return writer.finish()
}

/** The bytes of an OTLP Span.Link. */
export function encodeLink(link: SpanLink): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).bytes(link.traceId)
  writer.tag(2, WireType.LengthDelimited).bytes(spanIdBytes(link.spanId))
  for (const [key, value] of Object.entries(link.attributes ?? {})) {
    writer.tag(4, WireType.LengthDelimited).bytes(encodeAttribute(key, value))
  }
  return writer.finish()
}

function encodeEvent({ name, timeNs, attributes }: SpanEvent): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.Bit64).fixed64(timeNs)
  writer.tag(2, WireType.LengthDelimited).string(name)
  for (const [key, value] of Object.entries(attributes)) {
    writer.tag(3, WireType.LengthDelimited).bytes(encodeAttribute(key, value))
  }
  return writer.finish()
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

function encodeAnyValue(value: AttributeValue): Uint8Array {
  const writer = new BinaryWriter()
  if (typeof value === 'string') writer.tag(1, WireType.LengthDelimited).string(value)
  else if (typeof value === 'boolean') writer.tag(2, WireType.Varint).bool(value)
  else if (typeof value === 'bigint') writer.tag(3, WireType.Varint).int64(value)
  else {
    const array = new BinaryWriter()
    for (const element of value) array.tag(1, WireType.LengthDelimited).bytes(encodeAnyValue(element))
    writer.tag(5, WireType.LengthDelimited).bytes(array.finish())
  }
  return writer.finish()
}
