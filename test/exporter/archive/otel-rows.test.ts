import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { otelRows } from '../../../src/exporter/clickhouse/otel-traces.ts'
import { plainSpan } from '../../../src/exporter/clickhouse/plain-span.ts'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import type { JsonObject } from '../../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'
import { anOtlpMessage } from '../../otlp/otlp-arbitraries.ts'
import { nativeRows } from '../../support/native-rows.ts'

/** Two empty statuses say nothing, but a span with several is read as a tree. */
const AS_TREE = Buffer.from([0x7a, 0, 0x7a, 0])

function rowOf(bytes: Buffer): unknown {
  return nativeRows(otelRows([{ bytes, envelopes: undefined }]))[0]
}

function bytesOf(span: JsonObject): Buffer {
  const request = protobufOfJson(
    'traces',
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })),
  )
  let inside = Buffer.from(request)
  for (const field of [1, 2, 2]) {
    const cursor = new WireCursor(inside)
    while (cursor.next() && cursor.field !== field);
    inside = inside.subarray(cursor.start, cursor.end)
  }
  return inside
}

const VALUES = fc.oneof(
  fc.string().map((stringValue) => ({ stringValue })),
  fc.string({ unit: 'grapheme' }).map((stringValue) => ({ stringValue })),
  fc.boolean().map((boolValue) => ({ boolValue })),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({ intValue: String(value) })),
  fc.integer().map((value) => ({ intValue: String(value) })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((doubleValue) => ({ doubleValue })),
  fc.constant({}),
)
const PLAIN: fc.Arbitrary<JsonObject> = fc.record({
  traceId: fc.constant('0af7651916cd43dd8448eb211c80319c'),
  name: fc.string(),
  kind: fc.integer({ min: 0, max: 7 }),
  startTimeUnixNano: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  endTimeUnixNano: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String),
  attributes: fc.array(fc.record({ key: fc.string({ maxLength: 3 }), value: VALUES }), { maxLength: 5 }),
  status: fc.record({ code: fc.integer({ min: 0, max: 3 }), message: fc.string() }),
})

test('a span read at one go has the row that it has when it is read as a tree', () => {
  fc.assert(
    fc.property(fc.oneof(PLAIN, anOtlpMessage('Span', 4)), (span) => {
      const bytes = bytesOf(span)
      expect(rowOf(bytes)).toEqual(rowOf(Buffer.concat([bytes, AS_TREE])))
    }),
    { numRuns: 300 },
  )
})

test('the same holds for spans in which bytes were changed', () => {
  const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
  fc.assert(
    fc.property(PLAIN, fc.array(change, { minLength: 1, maxLength: 4 }), (span, changes) => {
      const bytes = bytesOf(span)
      for (const [at, value] of changes) bytes[at % bytes.length] = value
      // What comes after a field that is cut short would be part of it.
      if (rowOf(bytes) !== undefined) expect(rowOf(bytes)).toEqual(rowOf(Buffer.concat([bytes, AS_TREE])))
    }),
    { numRuns: 500 },
  )
})

test('a usual span is read at one go', () => {
  const attributes = [
    { key: 'cpid.id', value: { stringValue: 'db576a7d-2453-575f-29ea-b4bac787b919' } },
    { key: 'http.response.status_code', value: { intValue: '200' } },
    { key: 'quoted', value: { stringValue: 'a "b" \\ c\n' } },
  ]
  expect(plainSpan(bytesOf({ name: 'reconcile', kind: 2, attributes, status: { code: 1 } }))).toMatchObject({
    ...{ name: 'reconcile', kind: 2, status: { code: 1, message: '' } },
    attributes: [
      ...['cpid.id', 'db576a7d-2453-575f-29ea-b4bac787b919'],
      ...['http.response.status_code', '200', 'quoted', 'a "b" \\ c\n'],
    ],
  })
  for (const unusual of [{ events: [{ name: 'one' }] }, { links: [{ traceState: 'a' }] }, { name: 'größer' }])
    expect(plainSpan(bytesOf(unusual))).toBeUndefined()
})
