import { MalformedOtlp } from './malformed.ts'
import { WireCursor } from './wire-cursor.ts'

const BODY = 5
const ATTRIBUTES = 6
const LENGTH = 2
const KEY = 1
const VALUE = 2
/** How an array and a map begin as an AnyValue. */
const ARRAY_TAG = 0x2a
const MAP_TAG = 0x32
const PRIME = 0x01000193
const BASIS = 0x811c9dc5

/**
 * A number below 2^32 by which a log record that is sent again is found: the same for all encodings of one record, whatever
 * the order of fields and attributes. Different records have different ones in all likelihood, not for certain.
 */
export function digestOfLog(raw: Buffer): number {
  try {
    return ofLog(raw) >>> 0
  } catch (error) {
    // What is malformed deep inside is taken in, and is not encoded otherwise by anybody.
    if (error instanceof MalformedOtlp) return ofBytes(raw, 0, raw.length) >>> 0
    throw error
  }
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

/** What is in a map or a list may be in another order at any depth, so that only which bytes there are counts. */
function ofAny(bytes: Buffer, from: number, to: number): number {
  const tag = bytes[from]
  if (tag !== ARRAY_TAG && tag !== MAP_TAG) return ofBytes(bytes, from, to)
  let sum = 0
  for (let at = from; at < to; at++) sum = (sum + Math.imul(bytes[at] ?? 0, PRIME)) | 0
  return sum
}

/** 0 for zeros: a default counts as one that is left out. */
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
