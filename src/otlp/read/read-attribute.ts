import { AUDIT_ID, CLUSTER_NAME, POD_UID, SERVICE_NAME } from '../../model/attributes.ts'
import type { ItemCount } from './item-count.ts'
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
  if (isWrittenOtherwise(bytes, start, length)) return true
  return bytes[start + 2] === LOWER_C && bytes[start + 6] === DOT
}

/** The key does not come first, has a length in several bytes, or comes twice: seldom, and read by others as what it says last. */
function isWrittenOtherwise(bytes: Buffer, start: number, length: number): boolean {
  return bytes[start] !== KEY_TAG || length > 0x7f || bytes[start + 2 + length] === KEY_TAG
}

/** True when a KeyValue, whose key comes first, may be `audit-id` or `k8s.pod.uid`: by the length of its key, for nearly all. */
export function mayNameRequestOrPod(bytes: Buffer, start: number): boolean {
  const length = bytes[start + 1]
  if (length === AUDIT_ID.length) return bytes[start + 2] === LOWER_A && bytes[start + 7] === DASH
  return length === POD_UID.length && bytes[start + 9] === DOT && bytes[start + 10] === LOWER_U
}

/** True when a KeyValue may be `service.name` or `k8s.cluster.name`: by the length of its key, for nearly all. */
export function maySayWho(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  if (isWrittenOtherwise(bytes, start, length)) return true
  return length === SERVICE_NAME.length || length === CLUSTER_NAME.length
}

/** Reads one KeyValue at [start, end). The elements of a list are counted before they are made, where there is a count. */
export function readAttribute(
  bytes: Buffer,
  start: number,
  end: number,
  count?: ItemCount,
): { key: string; value: TextValue } {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let value: TextValue
  while (cursor.next()) {
    if (cursor.field === 1 && cursor.wire === 2) key = cursor.text()
    else if (cursor.field === 2 && cursor.wire === 2)
      value = readText(bytes, cursor.start, cursor.end, value, count)
  }
  return { key, value }
}

/** Reads an AnyValue, of which the last member counts; one that comes in parts goes on from `earlier` (protobuf). */
function readText(
  bytes: Buffer,
  start: number,
  end: number,
  earlier: TextValue,
  count: ItemCount | undefined,
): TextValue {
  const cursor = new WireCursor(bytes, start, end)
  let value = earlier
  while (cursor.next()) {
    if (cursor.field === STRING && cursor.wire === 2) value = cursor.text()
    else if (cursor.field === ARRAY && cursor.wire === 2) {
      if (!Array.isArray(value)) value = []
      readTexts(bytes, cursor.start, cursor.end, value, count)
    } else if (cursor.field > STRING && cursor.field <= LAST_MEMBER) value = undefined
  }
  return value
}

/** Adds the elements of an ArrayValue; an element that is not a string reads as the empty string. */
function readTexts(
  bytes: Buffer,
  start: number,
  end: number,
  texts: string[],
  count: ItemCount | undefined,
): void {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  while (cursor.next()) {
    if (cursor.field !== 1 || cursor.wire !== 2) continue
    let text = ''
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) {
      if (inner.field === STRING && inner.wire === 2) text = inner.text()
      else if (inner.field > STRING && inner.field <= LAST_MEMBER) text = ''
    }
    count?.add('references')
    texts.push(text)
  }
}
