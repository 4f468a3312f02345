import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import {
  EXPORT_REQUEST,
  type Field,
  type MessageName,
  MESSAGES,
} from '../../src/model/otlp/message-schema.ts'
import { type Json, jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'

/** The enums of opentelemetry-proto v1 as the .proto files write them: the name before its number. */
const PROTO: Readonly<Record<string, string>> = {
  kind: `SPAN_KIND_UNSPECIFIED = 0; SPAN_KIND_INTERNAL = 1; SPAN_KIND_SERVER = 2; SPAN_KIND_CLIENT = 3;
    SPAN_KIND_PRODUCER = 4; SPAN_KIND_CONSUMER = 5;`,
  code: 'STATUS_CODE_UNSET = 0; STATUS_CODE_OK = 1; STATUS_CODE_ERROR = 2;',
  severityNumber: `SEVERITY_NUMBER_UNSPECIFIED = 0;
    SEVERITY_NUMBER_TRACE = 1; SEVERITY_NUMBER_TRACE2 = 2; SEVERITY_NUMBER_TRACE3 = 3; SEVERITY_NUMBER_TRACE4 = 4;
    SEVERITY_NUMBER_DEBUG = 5; SEVERITY_NUMBER_DEBUG2 = 6; SEVERITY_NUMBER_DEBUG3 = 7; SEVERITY_NUMBER_DEBUG4 = 8;
    SEVERITY_NUMBER_INFO = 9; SEVERITY_NUMBER_INFO2 = 10; SEVERITY_NUMBER_INFO3 = 11; SEVERITY_NUMBER_INFO4 = 12;
    SEVERITY_NUMBER_WARN = 13; SEVERITY_NUMBER_WARN2 = 14; SEVERITY_NUMBER_WARN3 = 15; SEVERITY_NUMBER_WARN4 = 16;
    SEVERITY_NUMBER_ERROR = 17; SEVERITY_NUMBER_ERROR2 = 18; SEVERITY_NUMBER_ERROR3 = 19; SEVERITY_NUMBER_ERROR4 = 20;
    SEVERITY_NUMBER_FATAL = 21; SEVERITY_NUMBER_FATAL2 = 22; SEVERITY_NUMBER_FATAL3 = 23; SEVERITY_NUMBER_FATAL4 = 24;`,
  aggregationTemporality: `AGGREGATION_TEMPORALITY_UNSPECIFIED = 0; AGGREGATION_TEMPORALITY_DELTA = 1;
    AGGREGATION_TEMPORALITY_CUMULATIVE = 2;`,
}

const valuesOf = (field: Field): { name: string; number: number }[] =>
  Array.from((PROTO[field.name] ?? '').matchAll(/(\w+) = (\d+);/g), ([, name = '', number]) => ({
    name,
    number: Number(number),
  }))

const signals = ['traces', 'logs', 'metrics'] as const

/** The fields on the way from each request to each of its enums. */
const ENUM_FIELDS = signals.flatMap((signal) => {
  const found: { signal: typeof signal; path: Field[] }[] = []
  const walk = (name: MessageName, path: Field[]): void => {
    for (const field of MESSAGES[name]) {
      const there = [...path, field]
      if (field.type === 'message') {
        // A value may hold values: no enum is in there.
        if (field.message !== 'KeyValue' && field.message !== 'AnyValue') walk(field.message, there)
      } else if (field.kind === 'enum') found.push({ signal, path: there })
    }
  }
  walk(EXPORT_REQUEST[signal], [])
  return found
})

const requestWith = (path: readonly Field[], value: Json): Json =>
  path.reduceRight<Json>(
    (inner, field) => ({ [field.name]: field.occurs === 'many' ? [inner] : inner }),
    value,
  )

const place = (path: readonly Field[]): string =>
  `$${path.map((field) => `.${field.name}${field.occurs === 'many' ? '[0]' : ''}`).join('')}`

function protobufOf(signal: (typeof signals)[number], path: readonly Field[], value: Json): Uint8Array {
  return protobufOfJson(signal, Buffer.from(JSON.stringify(requestWith(path, value))))
}

const ANY_ENUM_FIELD = fc.constantFrom(...ENUM_FIELDS)

test('the walk over the requests finds the enums of spans, statuses, log records and metrics', () => {
  expect(ENUM_FIELDS.map(({ path }) => place(path)).toSorted()).toEqual([
    '$.resourceLogs[0].scopeLogs[0].logRecords[0].severityNumber',
    '$.resourceMetrics[0].scopeMetrics[0].metrics[0].exponentialHistogram.aggregationTemporality',
    '$.resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.aggregationTemporality',
    '$.resourceMetrics[0].scopeMetrics[0].metrics[0].sum.aggregationTemporality',
    '$.resourceSpans[0].scopeSpans[0].spans[0].kind',
    '$.resourceSpans[0].scopeSpans[0].spans[0].status.code',
  ])
})

test('the name of an enum value is as good as its number, for every value of every enum field', () => {
  for (const { signal, path } of ENUM_FIELDS) {
    const field = path.at(-1)
    const values = field === undefined ? [] : valuesOf(field)
    expect(values.length).toBeGreaterThan(2)
    for (const { name, number } of values) {
      const byName = protobufOf(signal, path, name)
      expect(byName).toEqual(protobufOf(signal, path, number))
      const shown = jsonOfProtobuf(EXPORT_REQUEST[signal], byName)
      if (number > 0) expect(shown).toEqual(requestWith(path, number))
    }
  }
})

test('any other text is refused with a sentence that names the field and what to write', () => {
  const almost = fc.constantFrom(
    '1',
    '',
    'SERVER',
    'span_kind_server',
    'SPAN_KIND_SERVER ',
    'SPAN_KIND_6',
    'toString',
  )
  const otherEnum = ANY_ENUM_FIELD.chain(({ path }) => {
    const values = path.slice(-1).flatMap(valuesOf)
    return fc.constantFrom(...values.map(({ name }) => name))
  })
  fc.assert(
    fc.property(ANY_ENUM_FIELD, fc.oneof(almost, otherEnum, fc.string()), ({ signal, path }, text) => {
      const names = path.slice(-1).flatMap(valuesOf)
      fc.pre(!names.some(({ name }) => name === text))
      const refused = (): unknown => protobufOf(signal, path, text)
      expect(refused).toThrow(expect.objectContaining({ name: 'MalformedOtlp' }))
      expect(refused).toThrow(`${place(path)}: `)
      expect(refused).toThrow(names.at(-1)?.name)
      expect(refused).toThrow('write a number')
    }),
  )
})

test('a refusal does not repeat a long text', () => {
  const [field] = ENUM_FIELDS
  expect(field).toBeDefined()
  if (field === undefined) return
  const refused = (): unknown => protobufOf(field.signal, field.path, 'x'.repeat(1_000_000))
  expect(refused).toThrow('a text of 1000000 characters is not a SpanKind')
})
