/* eslint-disable causeway/no-lookup-by-name -- fields have the names of our own table */
import { type Field, type MessageName, MESSAGES } from './message-schema.ts'
import { type Json, type JsonObject, jsonOfProtobuf } from './protobuf-to-json.ts'
import { unlessMalformed, WireCursor } from './protobuf-wire.ts'

/** Larger messages are compared only by their bytes: decoding takes many times their size. */
const MAX_BYTES = 256 * 1024
const NO_ID = /^0*$/

/**
 * The content of a protobuf message as text, equal for all encodings of the message. The order of fields, attributes and map entries does
 * not matter, nor whether a default value (an id of zeros included) is written. The order of events, links and list elements does. Unknown
 * fields are ignored. Undefined if the message is too large or malformed.
 */
export function canonicalContent(message: MessageName, bytes: Uint8Array): string | undefined {
  if (bytes.length > MAX_BYTES) return undefined
  return unlessMalformed(
    () => ofMessage(message, jsonOfProtobuf(message, bytes)),
    () => undefined,
  )
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

/** The text of a field; '' for a default value. */
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

/** Entries with equal keys keep their order, since the first one counts. */
function byKey(a: Json, b: Json): number {
  const [first, second] = [keyOf(a), keyOf(b)]
  return first < second ? -1 : first > second ? 1 : 0
}

function keyOf(value: Json): string {
  const { key } = value as { key?: Json }
  return typeof key === 'string' ? key : ''
}

const BODY = 5
const ATTRIBUTES = 6
const LENGTH = 2
const KEY = 1
const VALUE = 2
/** The tags of array and map in an AnyValue. */
const ARRAY_TAG = 0x2a
const MAP_TAG = 0x32
const PRIME = 0x01000193
const BASIS = 0x811c9dc5

/**
 * A 32-bit hash by which repeated log records are found: equal for all encodings of a record, whatever the order of fields and attributes.
 * Different records may collide, but rarely do.
 */
export function digestOfLog(raw: Buffer): number {
  return unlessMalformed(
    () => ofLog(raw) >>> 0,
    // What is malformed deep inside is taken in, and is not encoded otherwise by anybody.
    () => ofBytes(raw, 0, raw.length) >>> 0,
  )
}

function ofLog(raw: Buffer): number {
  const cursor = new WireCursor(raw)
  let digest = 0
  while (cursor.next()) {
    const { field, start, end } = cursor
    const isAny = field === BODY && cursor.wire === LENGTH
    const isAttribute = field === ATTRIBUTES && cursor.wire === LENGTH
    const part = isAttribute
      ? ofKeyValue(raw, start, end)
      : isAny
        ? ofAny(raw, start, end)
        : ofBytes(raw, start, end)
    digest = (digest + Math.imul(part, field * 2 + PRIME)) | 0
  }
  return digest
}

function ofKeyValue(bytes: Buffer, from: number, to: number): number {
  const cursor = new WireCursor(bytes, from, to)
  let digest = 0
  while (cursor.next()) {
    const { field, start, end } = cursor
    if (field === KEY) digest = (digest + Math.imul(ofBytes(bytes, start, end), PRIME)) | 0
    else if (field === VALUE) digest = (digest + ofAny(bytes, start, end)) | 0
  }
  return digest
}

/** A map or list may have maps in another order at any depth, so only the set of its bytes is hashed. */
function ofAny(bytes: Buffer, from: number, to: number): number {
  const tag = bytes[from]
  if (tag !== ARRAY_TAG && tag !== MAP_TAG) return ofBytes(bytes, from, to)
  let sum = 0
  for (let at = from; at < to; at++) sum = (sum + Math.imul(bytes[at] ?? 0, PRIME)) | 0
  return sum
}

/** 0 if all bytes are zero, so that a default value hashes like an absent one. */
function ofBytes(bytes: Buffer, from: number, to: number): number {
  let hash = BASIS
  let any = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    any |= byte
    hash = Math.imul(hash ^ byte, PRIME)
  }
  return any === 0 ? 0 : hash
}
