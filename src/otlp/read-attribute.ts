import { WireCursor } from './wire-cursor.ts'

const DOT = 0x2e
const LOWER_C = 0x63
const KEY_TAG = 0x0a

/** An attribute's value where it is a string or an array; anything else is undefined. */
export type TextValue = string | string[] | undefined

/**
 * True when a KeyValue at [start, end) may have a key that begins with `cpid.`: one byte comparison for the rest,
 * and true for the rare KeyValue whose key does not come first.
 */
export function mayBeCpidAttribute(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  if (bytes[start] !== KEY_TAG) return true
  return bytes[start + 2] === LOWER_C && bytes[start + 6] === DOT
}

/** Reads one KeyValue at [start, end). */
export function readAttribute(bytes: Buffer, start: number, end: number): { key: string; value: TextValue } {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let value: TextValue
  while (cursor.next()) {
    if (cursor.field === 1 && cursor.wire === 2) key = cursor.text()
    else if (cursor.field === 2 && cursor.wire === 2) value = readText(bytes, cursor.start, cursor.end)
  }
  return { key, value }
}

function readText(bytes: Buffer, start: number, end: number): TextValue {
  const cursor = new WireCursor(bytes, start, end)
  let value: TextValue
  while (cursor.next()) {
    if (cursor.wire !== 2) continue
    if (cursor.field === 1) value = cursor.text()
    else if (cursor.field === 5) value = readTexts(bytes, cursor.start, cursor.end)
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
    while (inner.next()) if (inner.field === 1 && inner.wire === 2) text = inner.text()
    texts.push(text)
  }
  return texts
}
