import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { UnixNanos } from '../../model/clock.ts'
import { encodeAttribute, type AttributeValue } from './encode-span.ts'

export interface NewLogRecord {
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
