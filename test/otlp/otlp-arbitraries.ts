import fc from 'fast-check'
import {
  type Field,
  type MessageName,
  MESSAGES,
  type ScalarKind,
} from '../../src/model/otlp/message-schema.ts'
import type { Json, JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'

const text = fc.string({ unit: 'grapheme' })
const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))

/** Values of each kind as Causeway itself writes them. */
const SCALARS: Record<ScalarKind, fc.Arbitrary<Json>> = {
  string: text,
  bytes: bytes.map((value) => value.toString('base64')),
  hexBytes: bytes.map((value) => value.toString('hex')),
  bool: fc.boolean(),
  double: fc
    .double()
    .map((value) => (Number.isFinite(value) ? value : String(value)))
    .filter((value) => !Object.is(value, -0)),
  enum: fc.integer(),
  uint32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  sint32: fc.integer(),
  fixed32: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  fixed64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  sfixed64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
}

const DEFAULTS: readonly unknown[] = ['', 0, false, '0']

/** OTLP/JSON messages in the one form that Causeway writes: no field holds its type's default. */
export function anOtlpMessage(name: MessageName, depth = 9): fc.Arbitrary<JsonObject> {
  const fields = MESSAGES[name].filter((field) => field.type === 'scalar' || depth > 0)
  const members = fields.map((field) => aMember(field, depth - 1))
  if (fields.some((field) => field.occurs === 'oneof')) return fc.oneof(...members)
  return fc.tuple(...members.map((member) => fc.oneof(fc.constant({}), member))).map((parts) => {
    return Object.assign({}, ...parts) as JsonObject
  })
}

function aMember(field: Field, depth: number): fc.Arbitrary<JsonObject> {
  const value: fc.Arbitrary<Json> =
    field.type === 'scalar' ? SCALARS[field.kind] : anOtlpMessage(field.message, depth)
  const values: fc.Arbitrary<Json> =
    field.occurs === 'many' ? fc.array(value, { minLength: 1, maxLength: 2 }) : value
  return values.map((member) => {
    const absent = field.occurs === 'one' && DEFAULTS.includes(member)
    return absent ? {} : { [field.name]: member }
  })
}
