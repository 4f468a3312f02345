import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { Field, ScalarKind } from './schema.ts'

/** The protobuf wire type a field is written with. */
export function wireTypeOf(field: Field): WireType {
  if (field.type === 'message') return WireType.LengthDelimited
  switch (field.kind) {
    case 'string':
    case 'bytes':
    case 'hexBytes':
      return WireType.LengthDelimited
    case 'bool':
    case 'enum':
    case 'uint32':
    case 'int64':
      return WireType.Varint
    case 'fixed32':
      return WireType.Bit32
    case 'double':
    case 'fixed64':
      return WireType.Bit64
  }
}

/** Reads one protobuf scalar as its OTLP/JSON value; text that is not UTF-8 is shown with U+FFFD. */
export function readJsonScalar(reader: BinaryReader, kind: ScalarKind): string | number | boolean {
  switch (kind) {
    case 'string':
      return reader.string()
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64')
    case 'hexBytes':
      return Buffer.from(reader.bytes()).toString('hex')
    case 'bool':
      return reader.bool()
    case 'double':
      return jsonOfDouble(reader.double())
    case 'enum':
      return reader.int32()
    case 'uint32':
      return reader.uint32()
    case 'fixed32':
      return reader.fixed32()
    case 'int64':
      return reader.int64().toString()
    case 'fixed64':
      return reader.fixed64().toString()
  }
}

function jsonOfDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}
