import type { GrowingMessage } from './growing-message.ts'
import type { JsonCursor } from './json-cursor.ts'
import { MalformedOtlp } from '../read/malformed.ts'
import { ENUMS, type EnumName, type Field } from './schema.ts'

type ScalarField = Extract<Field, { type: 'scalar' }>

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const HEX = /^(?:[0-9A-Fa-f]{2})+$/
const INTEGER = /^-?[0-9]+$/
const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/
/** Converting digits to a bigint takes time quadratic in their number. */
const MAX_NUMBER_LENGTH = 400
const MAX_SHOWN_NAMES = 6
const MAX_SHOWN_LENGTH = 100
const NUMBERS_BY_NAME = new Map<string, ReadonlyMap<string, bigint>>(
  Object.entries(ENUMS).map(([name, values]) => [
    name,
    new Map(values.map((value, number) => [value, BigInt(number)])),
  ]),
)
const NOT_FINITE = ['NaN', 'Infinity', '-Infinity']
const RANGE = {
  enum: { min: -(2n ** 31n), max: 2n ** 31n - 1n },
  uint32: { min: 0n, max: 2n ** 32n - 1n },
  fixed32: { min: 0n, max: 2n ** 32n - 1n },
  int64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
  fixed64: { min: 0n, max: 2n ** 64n - 1n },
}

/**
 * Reads one scalar of an OTLP/JSON message and writes it as protobuf, nothing where it holds its type's default
 * and presence means nothing. Throws MalformedOtlp when the JSON value is not of the field's kind.
 */
export function writeJsonScalar(writer: GrowingMessage, field: ScalarField, json: JsonCursor): void {
  const always = field.occurs !== 'one'
  switch (field.kind) {
    case 'string':
    case 'bytes':
    case 'hexBytes': {
      const bytes = bytesOf(field.kind, json)
      if (always || bytes.length > 0) writer.bytes(field.no, bytes)
      return
    }
    case 'bool': {
      if (json.kind() !== 'boolean') throw wrongKind('true or false', json)
      const value = json.boolean()
      if (always || value) writer.number(field.no, value ? 1 : 0)
      return
    }
    case 'double': {
      const value = doubleOf(json)
      if (always || value !== 0) writer.double(field.no, value)
      return
    }
    case 'enum':
    case 'uint32':
    case 'fixed32':
    case 'int64':
    case 'fixed64': {
      const value =
        field.kind === 'enum' && json.kind() === 'string'
          ? numberOfName(field.values, json.string().toString())
          : integerOf(field.kind, json)
      if (always || value !== 0n) writeInteger(writer, field.no, field.kind, value)
    }
  }
}

function writeInteger(writer: GrowingMessage, no: number, kind: keyof typeof RANGE, value: bigint): void {
  switch (kind) {
    case 'uint32':
      writer.number(no, Number(value))
      return
    case 'fixed32':
      writer.fixed32(no, Number(value))
      return
    case 'enum':
    case 'int64':
      writer.int64(no, value)
      return
    case 'fixed64':
      writer.fixed64(no, value)
  }
}

function bytesOf(kind: 'string' | 'bytes' | 'hexBytes', json: JsonCursor): Uint8Array {
  if (json.kind() !== 'string') throw wrongKind('a string', json)
  const text = json.string()
  if (kind === 'string') return text
  const digits = text.toString('latin1')
  if (kind === 'hexBytes') return HEX.test(digits) ? Buffer.from(digits, 'hex') : new Uint8Array()
  if (!BASE64.test(digits)) throw new MalformedOtlp('expected base64')
  return Buffer.from(digits, 'base64')
}

/** The OTLP specification asks for numbers; the Collector and Tempo take names too. */
function numberOfName(of: EnumName, name: string): bigint {
  const number = NUMBERS_BY_NAME.get(of)?.get(name)
  if (number !== undefined) return number
  const names: readonly string[] = ENUMS[of]
  const listed = names.length > MAX_SHOWN_NAMES ? [...names.slice(0, 2), '...', ...names.slice(-1)] : names
  const shown = name.length > MAX_SHOWN_LENGTH ? `a text of ${name.length} characters` : JSON.stringify(name)
  throw new MalformedOtlp(`${shown} is not a ${of}; write a number, or one of the names ${listed.join(', ')}`)
}

function integerOf(kind: keyof typeof RANGE, json: JsonCursor): bigint {
  const text =
    kind === 'enum'
      ? numberText('an integer or a name', false, json)
      : numberText('an integer or a string of one', true, json)
  const value = INTEGER.test(text) ? BigInt(text) : wholeNumber(text)
  if (value === undefined) throw new MalformedOtlp(`expected an integer, found "${text}"`)
  if (value < RANGE[kind].min || value > RANGE[kind].max) throw new MalformedOtlp(`${text} is out of range`)
  return value
}

/** An integer written with a fraction or an exponent, such as 1.5e3, which JSON does not tell from 1500. */
function wholeNumber(text: string): bigint | undefined {
  const value = Number(text)
  return DECIMAL.test(text) && Number.isInteger(value) ? BigInt(value) : undefined
}

function doubleOf(json: JsonCursor): number {
  const text = numberText('a number', true, json)
  const value = Number(text)
  if (NOT_FINITE.includes(text) || (DECIMAL.test(text) && Number.isFinite(value))) return value
  throw new MalformedOtlp(`expected a number, found "${text}"`)
}

function numberText(expected: string, orString: boolean, json: JsonCursor): string {
  const kind = json.kind()
  if (kind !== 'number' && !(kind === 'string' && orString)) throw wrongKind(expected, json)
  const text = kind === 'number' ? json.number() : json.string().toString('latin1')
  if (text.length > MAX_NUMBER_LENGTH)
    throw new MalformedOtlp(`expected ${expected}, found ${text.length} characters`)
  return text
}

function wrongKind(expected: string, json: JsonCursor): MalformedOtlp {
  return new MalformedOtlp(`expected ${expected}, found a JSON ${json.kind()}`)
}
