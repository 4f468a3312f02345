import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  toJson,
} from '@bufbuild/protobuf'
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt'
import {
  type Field,
  MAX_DEPTH,
  type MessageName,
  MESSAGES,
  type ScalarKind,
} from '../../src/model/otlp/message-schema.ts'
import type { Json, JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../src/model/otlp/protobuf-wire.ts'

const TYPES: Record<ScalarKind, FieldDescriptorProto_Type> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  hexBytes: FieldDescriptorProto_Type.BYTES,
  bool: FieldDescriptorProto_Type.BOOL,
  double: FieldDescriptorProto_Type.DOUBLE,
  enum: FieldDescriptorProto_Type.INT32,
  uint32: FieldDescriptorProto_Type.UINT32,
  sint32: FieldDescriptorProto_Type.SINT32,
  fixed32: FieldDescriptorProto_Type.FIXED32,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  fixed64: FieldDescriptorProto_Type.FIXED64,
  sfixed64: FieldDescriptorProto_Type.SFIXED64,
}

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: 'otlp.proto',
    syntax: 'proto3',
    messageType: Object.entries(MESSAGES).map(([name, fields]) => ({
      name,
      oneofDecl: fields.some(({ occurs }) => occurs === 'oneof') ? [{ name: 'value' }] : [],
      field: fields.map((field) => ({
        name: field.name,
        jsonName: field.name,
        number: field.no,
        label:
          field.occurs === 'many' ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL,
        ...(field.occurs === 'oneof' && { oneofIndex: 0 }),
        ...(field.type === 'message'
          ? { type: FieldDescriptorProto_Type.MESSAGE, typeName: `.${field.message}` }
          : { type: TYPES[field.kind] }),
      })),
    })),
  }),
  () => undefined,
)

function messageOf(name: MessageName): DescMessage {
  const found = registry.getMessage(name)
  if (found === undefined) throw new Error(`no message ${name}`)
  return found
}

/** What the general decoder of @bufbuild/protobuf makes of the bytes, as OTLP/JSON; undefined where it refuses them. */
export function referenceJson(name: MessageName, bytes: Uint8Array): JsonObject | undefined {
  try {
    const schema = messageOf(name)
    return otlpJson(name, toJson(schema, fromBinary(schema, bytes)) as JsonObject, 'hex')
  } catch {
    return undefined
  }
}

/**
 * True where a known field stands on the wire as another type than the schema's: such a field counts as unknown, but this
 * decoder reads it as if it were of its type.
 */
export function hasForeignTypes(
  name: MessageName,
  bytes: Buffer,
  from = 0,
  to = bytes.length,
  depth = 0,
): boolean {
  const cursor = new WireCursor(bytes, from, to)
  const fields = MESSAGES[name]
  try {
    while (cursor.next()) {
      const field = fields.find(({ no }) => no === cursor.field)
      if (field === undefined) continue
      if (cursor.wire !== (field.wire as number)) return true
      if (field.type !== 'message' || depth > MAX_DEPTH) continue
      if (hasForeignTypes(field.message, bytes, cursor.start, cursor.end, depth + 1)) return true
    }
    return false
  } catch {
    return true
  }
}

/** The same of OTLP/JSON. Members that the schema does not know are passed over. */
export function referenceOfJson(name: MessageName, json: JsonObject): JsonObject | undefined {
  try {
    const schema = messageOf(name)
    const proto = otlpJson(name, json, 'base64') as JsonValue
    return otlpJson(
      name,
      toJson(schema, fromJson(schema, proto, { ignoreUnknownFields: true })) as JsonObject,
      'hex',
    )
  } catch {
    return undefined
  }
}

/** Ids in hexadecimal digits as OTLP writes them, or in base64 as protobuf does; values that mean nothing left out. */
export function otlpJson(
  name: MessageName,
  json: JsonObject,
  ids: 'hex' | 'base64' | 'as they are',
): JsonObject {
  const written: JsonObject = {}
  for (const field of MESSAGES[name]) {
    const value = json[field.name] as Json | null | undefined
    if (value === undefined || value === null) continue
    const converted = Array.isArray(value)
      ? value.map((item) => oneOf(field, item, ids))
      : oneOf(field, value, ids)
    const isDefault = ['', 0, false, '0'].includes(converted as string) || Object.is(converted, -0)
    if (field.occurs === 'one' && field.type === 'scalar' && isDefault) continue
    if (field.occurs === 'many' && Array.isArray(converted) && converted.length === 0) continue
    written[field.name] = converted
  }
  return written
}

function oneOf(field: Field, value: Json, ids: 'hex' | 'base64' | 'as they are'): Json {
  if (field.type === 'message') {
    return typeof value === 'object' && !Array.isArray(value) ? otlpJson(field.message, value, ids) : value
  }
  if (field.kind !== 'hexBytes' || typeof value !== 'string' || ids === 'as they are') return value
  if (ids === 'hex') return Buffer.from(value, 'base64').toString('hex')
  return /^(?:[0-9a-f]{2})+$/i.test(value) ? Buffer.from(value, 'hex').toString('base64') : ''
}
