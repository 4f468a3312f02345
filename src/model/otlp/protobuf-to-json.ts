/* eslint-disable causeway/no-lookup-by-name -- fields have the names of our own table */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { errorText } from '../faults.ts'
import { type Field, MAX_DEPTH, type MessageName, MESSAGES, type ScalarKind } from './message-schema.ts'
import { MalformedOtlp } from './protobuf-wire.ts'

/** A JSON value in the making. */
export type Json = string | number | boolean | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

const FIELDS_BY_NUMBER = new Map(
  Object.entries(MESSAGES).map(([name, fields]) => [name, new Map(fields.map((field) => [field.no, field]))]),
)

const TOO_DEEP: JsonObject = { stringValue: `(nested more than ${MAX_DEPTH} deep)` }

/**
 * The OTLP/JSON form of one protobuf message (OTLP specification, JSON Protobuf Encoding): ids in lower-case
 * hexadecimal, other bytes in base64, 64-bit integers as decimal strings, enums as integers; unknown fields are
 * left out. A value nested deeper than MAX_DEPTH is shown as a text saying so. Throws MalformedOtlp when the bytes
 * are not a protobuf message.
 */
export function jsonOfProtobuf(message: MessageName, bytes: Uint8Array): JsonObject {
  try {
    return readMessage(message, new BinaryReader(bytes), bytes.length, 1)
  } catch (error) {
    // The reader throws Error and RangeError alike at bytes that are not protobuf.
    throw new MalformedOtlp(`not a protobuf ${message}: ${errorText(error)}`)
  }
}

function readMessage(
  name: MessageName,
  reader: BinaryReader,
  end: number,
  depth: number,
  into: JsonObject = {},
): JsonObject {
  const fields = FIELDS_BY_NUMBER.get(name)
  while (reader.pos < end) {
    const [no, wireType] = reader.tag()
    const field = fields?.get(no)
    if (field !== undefined && wireType === wireTypeOf(field)) readField(field, reader, depth, into)
    else if (field?.occurs === 'many' && wireType === WireType.LengthDelimited)
      readPacked(field, reader, depth, into)
    else reader.skip(wireType, no)
  }
  if (reader.pos !== end) throw new RangeError('a field runs past the end of its message')
  return into
}

/** Reads one occurrence: a repeated field grows, a message is merged with an earlier one, anything else replaced. */
function readField(field: Field, reader: BinaryReader, depth: number, into: JsonObject): void {
  const earlier = into[field.name]
  if (field.occurs === 'many') {
    const list = Array.isArray(earlier) ? earlier : []
    list.push(readValue(field, reader, depth))
    into[field.name] = list
    return
  }
  if (field.occurs === 'oneof' && earlier === undefined) {
    for (const member of Object.keys(into)) Reflect.deleteProperty(into, member)
  }
  into[field.name] = readValue(field, reader, depth, isObject(earlier) ? earlier : undefined)
}

/** Reads numbers that stand together in one field. */
function readPacked(field: Field, reader: BinaryReader, depth: number, into: JsonObject): void {
  const length = reader.uint32()
  const end = reader.pos + length
  if (end > reader.len) throw new RangeError('premature EOF')
  while (reader.pos < end) readField(field, reader, depth, into)
}

function readValue(field: Field, reader: BinaryReader, depth: number, earlier?: JsonObject): Json {
  if (field.type === 'scalar') return readJsonScalar(reader, field.kind)
  const length = reader.uint32()
  const end = reader.pos + length
  if (end > reader.len) throw new RangeError('premature EOF')
  if (depth < MAX_DEPTH) return readMessage(field.message, reader, end, depth + 1, earlier)
  reader.pos = end
  return field.message === 'AnyValue' ? TOO_DEEP : {}
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && !Array.isArray(value)
}

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
    case 'sint32':
    case 'int64':
    case 'uint64':
      return WireType.Varint
    case 'fixed32':
      return WireType.Bit32
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return WireType.Bit64
  }
}

/** Reads one protobuf scalar as its OTLP/JSON value; text that is not UTF-8 is shown with U+FFFD. */
function readJsonScalar(reader: BinaryReader, kind: ScalarKind): string | number | boolean {
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
    case 'sint32':
      return reader.sint32()
    case 'fixed32':
      return reader.fixed32()
    case 'int64':
      return reader.int64().toString()
    case 'uint64':
      return reader.uint64().toString()
    case 'sfixed64':
      return reader.sfixed64().toString()
    case 'fixed64':
      return reader.fixed64().toString()
  }
}

function jsonOfDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}
