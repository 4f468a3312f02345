import type { Json, JsonObject } from '../../otlp/json/protobuf-to-json.ts'
import { attributesOf, listOf, objectOf, textOf } from './shown-span.ts'

export interface JaegerTag {
  readonly key: string
  readonly type: 'string' | 'bool' | 'int64' | 'float64' | 'binary'
  readonly value: string | number | boolean
}

/** The attributes of something as Jaeger's tags; lists and maps are JSON in a text. */
export function jaegerTags(of: JsonObject): JaegerTag[] {
  return attributesOf(of).map(([key, value]) => ({ key, ...tagValue(value) }))
}

function tagValue(value: JsonObject): Omit<JaegerTag, 'key'> {
  const { boolValue, intValue, doubleValue, bytesValue } = value
  if (boolValue !== undefined) return { type: 'bool', value: boolValue === true }
  if (intValue !== undefined) {
    const integer = Number(intValue)
    return { type: 'int64', value: Number.isSafeInteger(integer) ? integer : textOf(intValue) }
  }
  if (doubleValue !== undefined) return { type: 'float64', value: Number(doubleValue) }
  if (bytesValue !== undefined) return { type: 'binary', value: textOf(bytesValue) }
  if (value['arrayValue'] === undefined && value['kvlistValue'] === undefined) {
    return { type: 'string', value: textOf(value['stringValue']) }
  }
  return { type: 'string', value: escapedJson(plain(value)) }
}

function plain(value: JsonObject): Json {
  const { arrayValue, kvlistValue, intValue } = value
  if (arrayValue !== undefined) return listOf(objectOf(arrayValue)['values']).map(plain)
  if (kvlistValue !== undefined) {
    const pairs = listOf(objectOf(kvlistValue)['values'])
    return Object.fromEntries(pairs.map((pair) => [textOf(pair['key']), plain(objectOf(pair['value']))]))
  }
  if (intValue !== undefined) return Number(intValue)
  return Object.values(value)[0] ?? ''
}

/** As Go writes JSON: without characters that mean something in HTML. */
function escapedJson(value: Json): string {
  return JSON.stringify(value).replaceAll(
    /[&<>\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
