/* eslint-disable causeway/no-lookup-by-name -- fields have the names of our own table */
import { MalformedOtlp } from '../read/malformed.ts'
import { jsonOfProtobuf, type Json, type JsonObject } from './protobuf-to-json.ts'
import { MESSAGES, type Field, type MessageName } from './schema.ts'

/** A message larger than this is compared by its bytes alone: to build it costs many times its size. */
const MAX_BYTES = 256 * 1024
const NO_ID = /^0*$/

/**
 * What a protobuf message says, as text: the same for all encodings of the same message. The order of fields, attributes
 * and values of a map makes no difference, nor does a default that is written or left out, an id of zeros included. The
 * order of events, links and elements of a list does. Fields that OTLP does not know count for nothing. Undefined for a
 * message that is too large, or malformed.
 */
export function contentOf(message: MessageName, bytes: Uint8Array): string | undefined {
  if (bytes.length > MAX_BYTES) return undefined
  try {
    return ofMessage(message, jsonOfProtobuf(message, bytes))
  } catch (error) {
    if (error instanceof MalformedOtlp) return undefined
    throw error
  }
}

function ofMessage(name: MessageName, message: JsonObject): string {
  const members: string[] = []
  for (const field of MESSAGES[name]) {
    const value = message[field.name]
    const text = value === undefined ? '' : ofField(field, value)
    if (text !== '') members.push(`${field.no}:${text}`)
  }
  return `{${members.join()}}`
}

/** Empty for a value that may be left out. */
function ofField(field: Field, value: Json): string {
  if (Array.isArray(value)) {
    const values = isMap(field) ? value.toSorted(byKey) : value
    return values.length === 0 ? '' : `[${values.map((one) => ofValue(field, one)).join()}]`
  }
  return field.occurs === 'one' && isDefault(field, value) ? '' : ofValue(field, value)
}

function ofValue(field: Field, value: Json): string {
  return field.type === 'message' ? ofMessage(field.message, value as JsonObject) : JSON.stringify(value)
}

function isDefault(field: Field, value: Json): boolean {
  if (field.type === 'message') return ofMessage(field.message, value as JsonObject) === '{}'
  if (field.kind === 'hexBytes') return typeof value === 'string' && NO_ID.test(value)
  return value === '' || value === 0 || value === '0' || value === false
}

const isMap = (field: Field): boolean => field.type === 'message' && field.message === 'KeyValue'

/** Values with the same key stay in their order: the first counts. */
function byKey(a: Json, b: Json): number {
  const [first, second] = [keyOf(a), keyOf(b)]
  return first < second ? -1 : first > second ? 1 : 0
}

function keyOf(value: Json): string {
  const { key } = value as { key?: Json }
  return typeof key === 'string' ? key : ''
}
