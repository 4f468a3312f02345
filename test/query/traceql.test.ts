import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { JsonObject } from '../../src/model/otlp/protobuf-to-json.ts'
import { matchesCondition } from '../../src/query/trace-search.ts'
import { parseTraceQl, TraceQlError } from '../../src/query/traceql.ts'

const SPAN = {
  resource: { attributes: [{ key: 'service.name', value: { stringValue: 'web' } }] },
  scope: {},
  resourceId: 1,
  span: {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: 'GET /',
    kind: 2,
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '1150000000',
    status: { code: 2, message: 'broken' },
    attributes: [
      { key: 'http.status_code', value: { intValue: '500' } },
      { key: 'ok', value: { boolValue: false } },
      { key: 'odd name', value: { stringValue: 'a "quoted" text' } },
      { key: 'long', value: { stringValue: 'x'.repeat(4_097) } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'one' }, { stringValue: 'two' }] } } },
    ],
    links: [{ traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), attributes: [] }],
  } as unknown as JsonObject,
}
const TRACE = { rootName: 'change', rootServiceName: 'kubectl', durationNs: 2e9 }
const meetsQuery = (query: string): boolean => matchesCondition(parseTraceQl(query), SPAN, TRACE)

test.each([
  '',
  '{}',
  '{ true }',
  '{ name = "GET /" }',
  '{ name != "x" && kind = server }',
  '{ status = error && statusMessage =~ "brok.*" }',
  '{ duration > 100ms } ',
  '{ duration = 150ms }',
  '{ duration >= 0.15s && duration <= 150000us }',
  '{ traceDuration = 2s && rootName = "change" && rootServiceName = "kubectl" }',
  '{ resource.service.name = "web" }',
  '{ .service.name = `web` }',
  '{ span.http.status_code >= 500 }',
  '{ span.http.status_code < 501 && span.http.status_code != 400 }',
  '{ .ok = false }',
  '{ span."odd name" = "a \\"quoted\\" text" }',
  '{ span.list = "two" }',
  '{ span.nothing = nil && span.ok != nil && .ok }',
  '{ !(name = "x") }',
  '{ name = "x" || (name =~ "GET.*" && .ok = false) }',
  '{ name !~ "POST.*" }',
  '{ name = "x" && name = "y" || kind = server }',
  `{ link:traceID = "${'c'.repeat(32)}" && span:id = "${'b'.repeat(16)}" }`,
  `{ trace:id = "${'a'.repeat(32)}" }`,
])('%s finds the span', (query) => {
  expect(meetsQuery(query)).toBe(true)
})

test.each([
  '{ false }',
  '{ name = "get /" }',
  '{ name =~ "GET" }',
  '{ status = ok }',
  '{ kind = client }',
  '{ duration > 1s }',
  '{ resource.http.status_code = 500 }',
  '{ span.http.status_code = "500" }',
  '{ span.nothing != "x" }',
  '{ span.nothing }',
  '{ span.http.status_code > "4" }',
  '{ span.constructor = "x" || .__proto__ != "x" || resource.toString }',
  '{ span.long =~ "x+" || span.long !~ "x+" }',
  '{ link:spanID = "e" }',
])('%s does not', (query) => {
  expect(meetsQuery(query)).toBe(false)
})

test.each([
  ['{', 'ends too soon'],
  ['name = "x"', 'expected {'],
  ['{ name = "x" } && { name = "y" }', 'only one { }'],
  ['{} | count() > 2', 'only one { }'],
  ['{ service = "x" }', 'service is no attribute'],
  ['{ parent.x = 1 }', 'attributes begin with'],
  ['{ constructor = "x" }', 'constructor is no attribute'],
  ['{ __proto__ = "x" }', '__proto__ is no attribute'],
  ['{ toString }', 'toString is no attribute'],
  ['{ name =~ "(" }', 'not a regular expression'],
  ['{ name =~ `(a)\\1` }', 'not a regular expression'],
  ['{ name =~ "(?=a)" }', 'not a regular expression'],
  ['{ name =~ "((x?){50}){50}" }', 'repeats too much'],
  [`{ name =~ "${'x'.repeat(257)}" }`, 'write at most 256'],
  [`{ ${Array(9).fill('name =~ "x"').join(' || ')} }`, 'at most 8 regular expressions'],
  ['{ name =~ 3 }', 'takes a text in quotes'],
  ['{ name = "x }', 'cannot read'],
  ['{ name > nil }', 'nil can only'],
  [`{ ${'('.repeat(60)} }`, 'nested'],
  [`{ name = "${'x'.repeat(5000)}" }`, 'at most 4096'],
])('%s is refused', (query, reason) => {
  expect(() => parseTraceQl(query)).toThrow(TraceQlError)
  expect(() => parseTraceQl(query)).toThrow(reason)
})

test('any text is read or refused', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '(',
    ')',
    '&&',
    '||',
    '!',
    '=',
    '=~',
    '"x"',
    'name',
    '.a',
    '1ms',
    '|',
    ' ',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join('')),
      ),
      (query) => {
        try {
          matchesCondition(parseTraceQl(query), SPAN, TRACE)
        } catch (error) {
          expect(error).toBeInstanceOf(TraceQlError)
        }
      },
    ),
  )
})
