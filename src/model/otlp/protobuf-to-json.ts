/* eslint-disable causeway/no-lookup-by-name -- fields have the names of our own tables */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { errorText } from '../faults.ts'
import { type Field, MAX_DEPTH, MESSAGES, type Messages, type ScalarKind } from './message-schema.ts'
import { MalformedOtlp } from './protobuf-wire.ts'

/** A JSON value that can be modified. */
export type Json = string | number | boolean | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

const TOO_DEEP: JsonObject = { stringValue: `(nested more than ${MAX_DEPTH} deep)` }

type FieldsByNumber = ReadonlyMap<string, ReadonlyMap<number, Field<string>>>

/**
 * Converts a protobuf message to OTLP/JSON (OTLP specification, JSON Protobuf Encoding): ids in lower-case hex, other bytes in base64,
 * 64-bit integers as decimal strings, enums as integers; unknown fields are left out. A value nested deeper than MAX_DEPTH is replaced by a
 * text that says so. Throws MalformedOtlp if the bytes are malformed.
 */
export const jsonOfProtobuf = decoderOf(MESSAGES)

/** Makes a decoder like `jsonOfProtobuf` for other messages. */
export function decoderOf<Message extends string>(
  messages: Messages<Message>,
): (message: Message, bytes: Uint8Array) => JsonObject {
  const known: FieldsByNumber = new Map(
    Object.entries<readonly Field<string>[]>(messages).map(([name, fields]) => [
      name,
      new Map(fields.map((field) => [field.no, field])),
    ]),
  )
  return (message, bytes) => {
    try {
      return new Decoding(known, bytes).message(message, bytes.length, 1)
    } catch (error) {
      // For malformed bytes the reader throws either an Error or a RangeError.
      throw new MalformedOtlp(`not a protobuf ${message}: ${errorText(error)}`)
    }
  }
}

class Decoding {
  readonly #known: FieldsByNumber
  readonly #reader: BinaryReader

  constructor(known: FieldsByNumber, bytes: Uint8Array) {
    this.#known = known
    this.#reader = new BinaryReader(bytes)
  }

  message(name: string, end: number, depth: number, into: JsonObject = {}): JsonObject {
    const reader = this.#reader
    const fields = this.#known.get(name)
    while (reader.pos < end) {
      const [no, wireType] = reader.tag()
      const field = fields?.get(no)
      if (field !== undefined && wireType === field.wire) this.#field(field, depth, into)
      else if (field?.occurs === 'many' && wireType === WireType.LengthDelimited)
        this.#packed(field, depth, into)
      else reader.skip(wireType, no)
    }
    if (reader.pos !== end) throw new RangeError('a field runs past the end of its message')
    return into
  }

  /** Reads a field: a repeated one is extended, a message is merged with an earlier part, any other value is replaced. */
  #field(field: Field<string>, depth: number, into: JsonObject): void {
    const earlier = into[field.name]
    if (field.occurs === 'many') {
      const list = Array.isArray(earlier) ? earlier : []
      list.push(this.#value(field, depth))
      into[field.name] = list
      return
    }
    if (field.occurs === 'oneof' && earlier === undefined) {
      for (const member of Object.keys(into)) Reflect.deleteProperty(into, member)
    }
    into[field.name] = this.#value(field, depth, isObject(earlier) ? earlier : undefined)
  }

  /** Reads packed numbers. */
  #packed(field: Field<string>, depth: number, into: JsonObject): void {
    const end = this.#endOfNext()
    while (this.#reader.pos < end) this.#field(field, depth, into)
  }

  #value(field: Field<string>, depth: number, earlier?: JsonObject): Json {
    if (field.type === 'scalar') return readJsonScalar(this.#reader, field.kind)
    const end = this.#endOfNext()
    if (depth < MAX_DEPTH) return this.message(field.message, end, depth + 1, earlier)
    this.#reader.pos = end
    return field.message === 'AnyValue' ? TOO_DEEP : {}
  }

  #endOfNext(): number {
    const length = this.#reader.uint32()
    const end = this.#reader.pos + length
    if (end > this.#reader.len) throw new RangeError('premature EOF')
    return end
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && !Array.isArray(value)
}

/** Reads a protobuf scalar as an OTLP/JSON value. Invalid UTF-8 becomes U+FFFD. */
function readJsonScalar(reader: BinaryReader, kind: ScalarKind): string | number | boolean {
  switch (kind) {
    case 'string':
      return reader.string()
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64')
    case 'hexBytes':
      return Buffer.from(reader.bytes()).toString('hex')
    case 'double':
      return jsonOfDouble(reader.double())
    case 'enum':
      return reader.int32()
    case 'bool':
    case 'uint32':
    case 'sint32':
    case 'fixed32':
      return reader[kind]()
    case 'int64':
    case 'uint64':
    case 'sfixed64':
    case 'fixed64':
      return reader[kind]().toString()
  }
}

function jsonOfDouble(value: number): number | string {
  return Number.isFinite(value) ? value : String(value)
}
