import type { JsonObject } from '../../model/otlp/protobuf-to-json.ts'
import { elementsOf, isList, textOf } from './static-values.ts'
import type { Static } from './syntax.ts'

/** A value as OTLP's AnyValue in JSON; what OTLP does not know is a text. */
export function staticJson(value: Static): JsonObject {
  if (isList(value.type)) return { arrayValue: { values: elementsOf(value).map(staticJson) } }
  switch (value.type) {
    case 'int':
      return { intValue: String(value.value) }
    case 'float':
      return { doubleValue: Number.isFinite(value.value) ? value.value : String(value.value) }
    case 'boolean':
      return { boolValue: value.value }
    case 'nil':
    case 'string':
    case 'duration':
    case 'status':
    case 'kind':
    case 'ints':
    case 'floats':
    case 'strings':
    case 'booleans':
      return { stringValue: textOf(value) }
  }
}
