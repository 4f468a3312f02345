import { allBytes, bufferOf, lastBytes, lastText, textOf, type WireField, wireFields } from './wire-fields.ts'

const KEY = 1
const VALUE = 2
const VALUES = 1

/** Deeper values are shown as an ellipsis, so that nesting from outside cannot exhaust the stack. */
const DEEPEST = 16

/** Every `key=value` of a repeated KeyValue field, values written as JSON. */
export function attributeTexts(fields: readonly WireField[], no: number): string[] {
  return allBytes(fields, no).map((bytes) => {
    const pair = wireFields(bytes)
    return `${lastText(pair, KEY)}=${anyValueText(lastBytes(pair, VALUE))}`
  })
}

/** An OTLP AnyValue as JSON text; bytes as base64, an empty value as null. */
export function anyValueText(value: Uint8Array, depth = 0): string {
  if (depth === DEEPEST) return '…'
  const field = wireFields(value).at(-1)
  if (field === undefined) return 'null'
  return typeof field.value === 'bigint'
    ? numberText(field.no, field.value)
    : nestedText(field.no, field.value, depth)
}

function numberText(no: number, bits: bigint): string {
  if (no === 2) return String(bits !== 0n)
  if (no === 4) return String(new Float64Array(new BigUint64Array([bits]).buffer)[0])
  return String(BigInt.asIntN(64, bits))
}

function nestedText(no: number, bytes: Uint8Array, depth: number): string {
  if (no === 1) return JSON.stringify(textOf(bytes))
  if (no === 5) {
    const items = allBytes(wireFields(bytes), VALUES)
    return `[${items.map((item) => anyValueText(item, depth + 1)).join(',')}]`
  }
  if (no === 6) {
    const pairs = allBytes(wireFields(bytes), VALUES).map((pair) => wireFields(pair))
    const texts = pairs.map(
      (pair) => `${JSON.stringify(lastText(pair, KEY))}:${anyValueText(lastBytes(pair, VALUE), depth + 1)}`,
    )
    return `{${texts.join(',')}}`
  }
  return JSON.stringify(bufferOf(bytes).toString('base64'))
}
