/** An AnyValue in OTLP/JSON: one of these, or none where it is empty. */
export interface AnyValueJson {
  stringValue?: string
  boolValue?: boolean
  intValue?: string
  doubleValue?: number | string
  arrayValue?: { values?: AnyValueJson[] }
  kvlistValue?: { values?: KeyValueJson[] }
  bytesValue?: string
}

export interface KeyValueJson {
  key?: string
  value?: AnyValueJson
}

/** Deeper values are shown as an ellipsis. */
const DEEPEST = 16

/** Each attribute as `key=value`, values written as JSON. */
export function attributeTexts(attributes: readonly KeyValueJson[] = []): string[] {
  return attributes.map(({ key = '', value }) => `${key}=${anyValueText(value)}`)
}

/** An AnyValue as JSON text; bytes as base64, an empty value as null. */
export function anyValueText(value: AnyValueJson = {}, depth = 0): string {
  if (depth === DEEPEST) return '…'
  const { arrayValue, kvlistValue, intValue, doubleValue } = value
  if (arrayValue !== undefined)
    return `[${(arrayValue.values ?? []).map((item) => anyValueText(item, depth + 1)).join(',')}]`
  if (kvlistValue !== undefined) {
    const pairs = (kvlistValue.values ?? []).map(
      (pair) => `${JSON.stringify(pair.key ?? '')}:${anyValueText(pair.value, depth + 1)}`,
    )
    return `{${pairs.join(',')}}`
  }
  // Integers of 64 bits, and what is not finite, are texts in OTLP/JSON.
  if (intValue !== undefined || doubleValue !== undefined) return String(intValue ?? doubleValue)
  return JSON.stringify(value.stringValue ?? value.boolValue ?? value.bytesValue ?? null)
}
