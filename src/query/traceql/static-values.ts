import type { JsonObject } from '../../model/otlp/protobuf-to-json.ts'
import {
  failsOnSpan,
  KINDS,
  type Arithmetic,
  type Operator,
  type Static,
  type StaticType,
  STATUSES,
  type Type,
} from './syntax.ts'

export const NIL: Static = { type: 'nil' }
const TRUE: Static = { type: 'boolean', value: true }
export const FALSE: Static = { type: 'boolean', value: false }

export const intOf = (value: bigint): Static => ({ type: 'int', value: BigInt.asIntN(64, value) })
export const floatOf = (value: number): Static => ({ type: 'float', value })
export const stringOf = (value: string): Static => ({ type: 'string', value })
export const booleanOf = (value: boolean): Static => (value ? TRUE : FALSE)
export const durationOf = (value: bigint): Static => ({ type: 'duration', value: BigInt.asIntN(64, value) })
export const statusOf = (code: number): Static => ({ type: 'status', value: STATUSES[code] ?? 'unset' })
export const kindOf = (kind: number): Static => ({ type: 'kind', value: KINDS[kind] ?? 'unspecified' })

const NUMERIC: readonly Type[] = ['int', 'float', 'duration']
const ELEMENTS: Readonly<Partial<Record<Type, StaticType>>> = {
  ints: 'int',
  floats: 'float',
  strings: 'string',
  booleans: 'boolean',
}

export const isNumeric = (type: Type): boolean => NUMERIC.includes(type)
export const isList = (type: Type): boolean => ELEMENTS[type] !== undefined

/** Whether some operator accepts two types as its operands. */
export function areMatching(left: Type, right: Type): boolean {
  if (left === 'attribute' || right === 'attribute' || left === right) return true
  if (isNumeric(left) && isNumeric(right)) return true
  return left === 'nil' || right === 'nil' || isListWithElement(left, right)
}

/** Whether one type is a list, and the other can be compared with its elements. */
function isListWithElement(left: Type, right: Type): boolean {
  const ofLeft = ELEMENTS[left]
  if (ofLeft !== undefined) return areMatching(ofLeft, right)
  const ofRight = ELEMENTS[right]
  return ofRight !== undefined && areMatching(ofRight, left)
}

const EQUALITY: readonly Operator[] = ['=', '!=']
const MEMBERSHIP: readonly Operator[] = ['in', 'notIn']
const ORDER: readonly Operator[] = ['>', '>=', '<', '<=']
const ARITHMETIC: readonly Operator[] = ['+', '-', '*', '/', '%', '^']
const LOGIC: readonly Operator[] = ['&&', '||']
const EXPRESSIONS: readonly Operator[] = ['=~', '!~', 'matchesAny', 'matchesNone']
const OF_BOOLEANS = [...LOGIC, ...EQUALITY, ...MEMBERSHIP]
const OF_NUMBERS = [...ARITHMETIC, ...EQUALITY, ...ORDER, ...MEMBERSHIP]
const OF_TEXTS = [...EQUALITY, ...EXPRESSIONS, ...ORDER, ...MEMBERSHIP]

const TAKEN: Readonly<Record<Exclude<Type, 'attribute'>, readonly Operator[]>> = {
  nil: EQUALITY,
  status: EQUALITY,
  kind: EQUALITY,
  boolean: OF_BOOLEANS,
  booleans: OF_BOOLEANS,
  int: OF_NUMBERS,
  ints: OF_NUMBERS,
  float: OF_NUMBERS,
  floats: OF_NUMBERS,
  duration: OF_NUMBERS,
  string: OF_TEXTS,
  strings: OF_TEXTS,
}

/** Whether an operator accepts operands of a type. */
export const takes = (operator: Operator, type: Type): boolean =>
  type === 'attribute' || TAKEN[type].includes(operator)

const FLIPPED: Readonly<Partial<Record<Operator, Operator>>> = { '>': '<', '>=': '<=', '<': '>', '<=': '>=' }
/** The operator with the same meaning when its operands are swapped. */
export const flipped = (operator: Operator): Operator => FLIPPED[operator] ?? operator

export const givesBoolean = (operator: Operator): boolean => !ARITHMETIC.includes(operator)

export function numberOf(of: Static): number {
  if (of.type === 'float') return of.value
  return of.type === 'int' || of.type === 'duration' ? Number(of.value) : NaN
}

/** Tempo's numbers for statuses, for comparisons with integers. */
const STATUS_NUMBERS = { error: 0n, ok: 1n, unset: 2n }

/** Nil equals nothing, not even itself. */
export function areEqual(left: Static, right: Static): boolean {
  if (left.type === 'nil' || right.type === 'nil') return false
  if (isWhole(left) && isWhole(right)) return left.value === right.value
  if (isNumeric(left.type) && isNumeric(right.type)) return numberOf(left) === numberOf(right)
  if (left.type === 'status' && right.type === 'int') return STATUS_NUMBERS[left.value] === right.value
  if (right.type === 'status' && left.type === 'int') return STATUS_NUMBERS[right.value] === left.value
  if (left.type !== right.type) return false
  if (Array.isArray(left.value) && Array.isArray(right.value)) {
    const other: readonly unknown[] = right.value
    return left.value.length === other.length && left.value.every((one, at) => one === other[at])
  }
  return left.value === right.value
}

const isWhole = (of: Static): of is Extract<Static, { type: 'int' | 'duration' }> =>
  of.type === 'int' || of.type === 'duration'

/** The order of types by which Tempo compares values of different types, the least first. */
const TYPES: readonly StaticType[] = [
  ...(['nil', 'int', 'float', 'string', 'boolean'] as const),
  ...(['ints', 'floats', 'strings', 'booleans'] as const),
  ...(['duration', 'status', 'kind'] as const),
]

/** Compares two values for minimum and maximum; negative if the left one is less. */
export function order(left: Static, right: Static): number {
  if (left.type !== right.type) {
    return isNumeric(left.type) && isNumeric(right.type)
      ? compare(numberOf(left), numberOf(right))
      : TYPES.indexOf(left.type) - TYPES.indexOf(right.type)
  }
  if (left.type === 'nil' || right.type === 'nil') return 0
  return typeof left.value === 'object' || typeof right.value === 'object'
    ? compare(textOf(left), textOf(right))
    : compare(left.value, right.value)
}

function compare<T>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0
}

/** Compares strings by their UTF-8 bytes, and so by code points. */
export function compareTexts(left: string, right: string): number {
  const isPlain = !SURROGATE.test(left) && !SURROGATE.test(right)
  return isPlain ? compare(left, right) : Buffer.compare(Buffer.from(left), Buffer.from(right))
}
const SURROGATE = /[\ud800-\udfff]/

/** Computes with two numbers. If both are integers, so is the result. */
export function calculate(operator: Arithmetic, left: Static, right: Static): Static {
  if (left.type === 'int' && right.type === 'int') return wholeResult(operator, left.value, right.value)
  const [a, b] = [numberOf(left), numberOf(right)]
  switch (operator) {
    case '+':
      return floatOf(a + b)
    case '-':
      return floatOf(a - b)
    case '*':
      return floatOf(a * b)
    case '/':
      return floatOf(a / b)
    case '%':
      return floatOf(a % b)
    case '^':
      return floatOf(a ** b)
  }
}

function wholeResult(operator: Arithmetic, left: bigint, right: bigint): Static {
  switch (operator) {
    case '+':
      return intOf(left + right)
    case '-':
      return intOf(left - right)
    case '*':
      return intOf(left * right)
    case '/':
      if (right === 0n) throw failsOnSpan('the query divides an integer by zero')
      return intOf(left / right)
    case '%':
      if (right === 0n) throw failsOnSpan('the query asks for the rest of a division by zero')
      return intOf(left % right)
    case '^': {
      // As in Tempo, the right integer is the base, and the left one the exponent.
      const power = Number(right) ** Number(left)
      return intOf(Math.abs(power) < 2 ** 63 ? BigInt(Math.trunc(power)) : -(2n ** 63n))
    }
  }
}

export function sum(left: Static, right: Static): Static {
  if (left.type === 'int' && right.type === 'int') return intOf(left.value + right.value)
  if (left.type === 'duration' && right.type === 'duration') return durationOf(left.value + right.value)
  return left.type === 'float' && right.type === 'float' ? floatOf(left.value + right.value) : left
}

export function divideByCount(of: Static, count: number): Static {
  if (of.type === 'int') return floatOf(Number(of.value) / count)
  if (of.type === 'duration') return durationOf(of.value / BigInt(count))
  return of.type === 'float' ? floatOf(of.value / count) : of
}

/** The elements of a list; any other value is its own only element. */
export function elementsOf(of: Static): Static[] {
  if (of.type === 'ints') return of.value.map(intOf)
  if (of.type === 'floats') return of.value.map(floatOf)
  if (of.type === 'strings') return of.value.map(stringOf)
  return of.type === 'booleans' ? of.value.map(booleanOf) : [of]
}

/** A list of the elements of both values; undefined if their types differ. */
export function joined(left: Static, right: Static): Static | undefined {
  const type = ELEMENTS[left.type] ?? left.type
  if ((ELEMENTS[right.type] ?? right.type) !== type) return undefined
  const values = [...elementsOf(left), ...elementsOf(right)].map((one) =>
    one.type === 'nil' ? [] : one.value,
  )
  const list = (Object.keys(ELEMENTS) as (keyof typeof ELEMENTS)[]).find((key) => ELEMENTS[key] === type)
  return list === undefined ? undefined : ({ type: list, value: values } as Static)
}

/** The estimated number of characters of a value in an answer. */
export function lengthOf(of: Static): number {
  if (of.type === 'string') return of.value.length
  if (of.type === 'strings') return of.value.reduce((sum, one) => sum + one.length, of.value.length * SHORT)
  const isOfMany = of.type === 'ints' || of.type === 'floats' || of.type === 'booleans'
  return isOfMany ? of.value.length * SHORT : SHORT
}
const SHORT = 20

/** A value as Tempo writes it in names, labels and lists. */
export function textOf(of: Static): string {
  switch (of.type) {
    case 'nil':
      return 'nil'
    case 'float': {
      const text = goFloat(of.value, 6)
      return /[e.]/.test(text) ? text : `${text}.0`
    }
    case 'duration':
      return goDuration(of.value)
    case 'ints':
    case 'floats':
    case 'booleans':
      return `[${of.value.map((one) => (typeof one === 'number' ? goFloat(one, 21) : String(one))).join(', ')}]`
    case 'strings':
      return `[${of.value.map((one) => `\`${one}\``).join(', ')}]`
    case 'int':
    case 'string':
    case 'boolean':
    case 'status':
    case 'kind':
      return String(of.value)
  }
}

/** The shortest text of a float, as Go writes it. It has an exponent if there are more than `mostDigits` digits before the point. */
function goFloat(value: number, mostDigits: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < mostDigits) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** A duration as Go writes it, such as 1m30s or 1.5ms. */
function goDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s'
  const sign = nanos < 0n ? '-' : ''
  const size = nanos < 0n ? -nanos : nanos
  for (const [unit, length, digits] of [
    ['ns', 1n, 0],
    ['µs', 1_000n, 3],
    ['ms', 1_000_000n, 6],
  ] as const) {
    if (size < length * 1_000n) return `${sign}${decimal(size, digits)}${unit}`
  }
  const minutes = size / 60_000_000_000n
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`
  if (minutes === 0n) return sign + seconds
  return `${sign}${minutes >= 60n ? `${minutes / 60n}h` : ''}${minutes % 60n}m${seconds}`
}

function decimal(value: bigint, digits: number): string {
  const text = String(value).padStart(digits + 1, '0')
  const [whole, part] = [text.slice(0, text.length - digits), text.slice(text.length - digits)]
  const short = part.replace(/0+$/, '')
  return short === '' ? whole : `${whole}.${short}`
}

/** The value of a label in protobuf's text format, by which Tempo sorts. */
export function protobufText(value: Static): string {
  if (value.type === 'int') return `int_value:${value.value} `
  if (value.type === 'float') return `double_value:${goFloat(value.value, 21)} `
  if (value.type === 'boolean') return `bool_value:${value.value} `
  const bytes = Buffer.from(textOf(value)).toString('latin1')
  return `string_value:"${bytes.replaceAll(/[^ !#-[\]-~]/g, escaped)}" `
}

const escaped = (byte: string): string =>
  ESCAPED.get(byte) ?? `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['"', '\\"'],
  ['\\', '\\\\'],
])

/** A value as an AnyValue in OTLP/JSON. Types that OTLP lacks become strings. */
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
