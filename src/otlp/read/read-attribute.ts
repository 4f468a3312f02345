import { AUDIT_ID, POD_UID } from '../../model/attributes.ts'
import { WireCursor } from './wire-cursor.ts'

const DOT = 0x2e
const DASH = 0x2d
const LOWER_A = 0x61
const LOWER_C = 0x63
const LOWER_U = 0x75
const KEY_TAG = 0x0a

/** Members of AnyValue. */
const STRING = 1
const ARRAY = 5
const LAST_MEMBER = 7

/** An attribute's value where it is a string or an array; anything else is undefined. */
export type TextValue = string | string[] | undefined

/**
 * True when a KeyValue at [start, end) may have a key that begins with `cpid.`: one byte comparison for the rest,
 * and true for the rare KeyValue whose key does not come first.
 */
export function mayBeCpidAttribute(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  // A length in several bytes, or a second key: seldom, and read by others as what it says last.
  if (bytes[start] !== KEY_TAG || length > 0x7f || bytes[start + 2 + length] === KEY_TAG) return true
  return bytes[start + 2] === LOWER_C && bytes[start + 6] === DOT
}

/** True when a KeyValue, whose key comes first, may be `audit-id` or `k8s.pod.uid`: by the length of its key, for nearly all. */
export function mayNameRequestOrPod(bytes: Buffer, start: number): boolean {
  const length = bytes[start + 1]
  if (length === AUDIT_ID.length) return bytes[start + 2] === LOWER_A && bytes[start + 7] === DASH
  return length === POD_UID.length && bytes[start + 9] === DOT && bytes[start + 10] === LOWER_U
}

/** Reads one KeyValue at [start, end). */
export function readAttribute(bytes: Buffer, start: number, end: number): { key: string; value: TextValue } {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let value: TextValue
  while (cursor.next()) {
    if (cursor.field === 1 && cursor.wire === 2) key = cursor.text()
    else if (cursor.field === 2 && cursor.wire === 2) value = readText(bytes, cursor.start, cursor.end, value)
  }
  return { key, value }
}

/** Reads an AnyValue, of which the last member counts; one that comes in parts goes on from `earlier` (protobuf). */
function readText(bytes: Buffer, start: number, end: number, earlier: TextValue): TextValue {
  const cursor = new WireCursor(bytes, start, end)
  let value = earlier
  while (cursor.next()) {
    if (cursor.field === STRING && cursor.wire === 2) value = cursor.text()
    else if (cursor.field === ARRAY && cursor.wire === 2) {
      const texts = readTexts(bytes, cursor.start, cursor.end)
      value = Array.isArray(value) ? value.concat(texts) : texts
    } else if (cursor.field > STRING && cursor.field <= LAST_MEMBER) value = undefined
  }
  return value
}

/** The elements of an ArrayValue; an element that is not a string reads as the empty string. */
function readTexts(bytes: Buffer, start: number, end: number): string[] {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  const texts: string[] = []
  while (cursor.next()) {
    if (cursor.field !== 1 || cursor.wire !== 2) continue
    let text = ''
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) {
      if (inner.field === STRING && inner.wire === 2) text = inner.text()
      else if (inner.field > STRING && inner.field <= LAST_MEMBER) text = ''
    }
    texts.push(text)
  }
  return texts
}
