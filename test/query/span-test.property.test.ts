import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { SpanTests } from '../../src/query/span-test.ts'
import { conditionsOf, withLists } from '../../src/query/traceql/conditions.ts'
import { MatchingEffort } from '../../src/query/traceql/evaluate-field.ts'
import { FetchPlan } from '../../src/query/traceql/fetch-plan.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { compilePipeline } from '../../src/query/traceql/pipeline.ts'
import { SpanReader } from '../../src/query/traceql/read-span.ts'
import { TraceQlError } from '../../src/query/traceql/syntax.ts'
import { message, nanos, number, WRONG } from '../support/protobuf-by-hand.ts'

const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('k', 'http.method') },
  fc.constantFrom('service.name', 'cpid.id', 'name', 'k'.repeat(130)),
)
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b') },
  fc.constantFrom('ü', '', 'nil', 'b'.repeat(126), 'b'.repeat(300)),
)
const ofText = (value: string): Buffer => message(1, Buffer.from(value))
const simple = fc.oneof(
  { weight: 4, arbitrary: text.map(ofText) },
  fc.constantFrom(0n, 1n, 2n ** 53n + 1n).map((value) => number(3, value)),
  fc.constantFrom(0n, 1n).map((value) => number(2, value)),
)
const value = fc.oneof(
  { weight: 6, arbitrary: simple },
  {
    weight: 3,
    arbitrary: fc
      .array(simple, { maxLength: 3 })
      .map((all) => message(5, ...all.map((one) => message(1, one)))),
  },
  fc.tuple(simple, simple).map((both) => Buffer.concat(both)),
  fc.constantFrom(Buffer.alloc(0), message(6), ...WRONG.map(([, , bytes]) => bytes)),
)
/** As nearly all senders encode it, and in other ways that mean something too. */
const attribute = fc
  .tuple(key, value, key, value, fc.integer({ min: 0, max: 9 }))
  .map(([name, of, otherName, other, form]) => {
    const [ofName, ofValue] = [message(1, Buffer.from(name)), message(2, of)]
    if (form === 0) return [ofValue, ofName]
    if (form === 1) return [message(1, Buffer.from(otherName)), ofName, ofValue]
    if (form === 2) return [message(1, Buffer.from(otherName)), ofValue, ofName]
    if (form === 3) return [ofName, ofValue, message(2, other)]
    return form === 4 ? [ofName] : [ofName, ofValue]
  })
const attributes = fc.array(attribute, { maxLength: 3 })
const span = fc
  .record({ name: fc.option(text), own: attributes, ofEvent: attributes })
  .map(({ name, own, ofEvent }) => [
    message(1, Buffer.alloc(16, 1)),
    message(2, Buffer.alloc(8, 2)),
    ...(name === null ? [] : [message(5, Buffer.from(name))]),
    nanos(7, 1n),
    ...own.map((one) => message(9, ...one)),
    message(11, ...ofEvent.map((one) => message(3, ...one))),
  ])

const literal = text.map((one) => JSON.stringify(one))
const comparison = fc
  .tuple(
    fc.oneof(
      fc.tuple(fc.constantFrom('span.', '.', 'resource.', 'event.'), key).map((parts) => parts.join('')),
      fc.constant('name'),
    ),
    fc.oneof(
      fc.tuple(fc.constantFrom('=', '!=', '=~', '!~', '>', '<='), literal).map((parts) => parts.join(' ')),
      fc.constantFrom(
        '= 1',
        '!= 1',
        '>= 1',
        '= true',
        '!= true',
        '= nil',
        '!= nil',
        '=~ "[ab].*"',
        '!~ ".+"',
      ),
    ),
    fc.boolean(),
  )
  .map(([name, asked, isNegated]) => (isNegated ? `!(${name} ${asked})` : `${name} ${asked}`))
const filter = fc.oneof(
  comparison,
  fc.tuple(comparison, fc.constantFrom('&&', '||'), comparison).map((parts) => parts.join(' ')),
  fc
    .tuple(comparison, fc.constantFrom('&&', '||'), comparison, fc.constantFrom('&&', '||'), comparison)
    .map(([a, first, b, second, c]) => `(${a} ${first} ${b}) ${second} ${c}`),
)

/** A filter, the test of it, and what it comes to on the bytes of a span. */
function asked(query: string, resource: Buffer): { isMet: (span: Buffer) => boolean; test: SpanTest } {
  const { pipeline } = readTraceQl(query)
  const [stage] = pipeline.stages
  if (stage?.kind !== 'filter') throw new Error(`${query} is no filter`)
  const reader = new SpanReader(() => ({ resourceId: 1, resource, scope: Buffer.alloc(0) }), undefined)
  const made = withLists(pipeline)
  return {
    test: new SpanTests(pipeline, (scope) => reader.scopeOf(scope)).of(stage.field),
    isMet: (bytes) => {
      const effort = new MatchingEffort()
      const read = reader.read(bytes, 1)
      if (read === undefined) return false
      const trace = { traceId: '01'.repeat(16), spans: [read] }
      const spans = resultOf(new FetchPlan(conditionsOf(made), effort).spansOf(trace))
      return resultOf(compilePipeline(made, effort)([{ spans, attributes: [] }])).some(
        (set) => set.spans.length > 0,
      )
    },
  }
}
type SpanTest = ReturnType<SpanTests['of']>

function resultOf<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** The bytes of a span among others. */
function isAccepted(accepts: NonNullable<SpanTest>, bytes: Buffer): boolean {
  const others = message(9, message(1, Buffer.from('k')), message(2, ofText('a')))
  return accepts(Buffer.concat([others, bytes, others]), others.length, others.length + bytes.length, 1)
}

test('a test of bytes accepts every span that its filter finds, however it is encoded', () => {
  fc.assert(
    fc.property(
      span,
      attributes,
      fc.array(filter, { minLength: 1, maxLength: 5 }),
      (fields, ofResource, filters) => {
        const resource = message(1, ...ofResource.map((one) => message(1, ...one)))
        const bytes = Buffer.concat(fields)
        // Causeway adds it when it sends a span.
        const added = message(9, message(1, Buffer.from('cpid.id')), message(2, ofText('a')))
        const hasOwn = bytes.includes('cpid.id')
        for (const one of filters) {
          try {
            const { test: accepts, isMet } = asked(`{ ${one} }`, resource)
            if (accepts === undefined) continue
            const wanted = isMet(bytes) || (!hasOwn && isMet(Buffer.concat([bytes, added])))
            if (wanted) expect([one, isAccepted(accepts, bytes)]).toEqual([one, true])
          } catch (error) {
            // Of intrinsics that are never nil, and of values that cannot be compared.
            if (!(error instanceof TraceQlError)) throw error
          }
        }
      },
    ),
    { numRuns: 300 },
  )
})

test.each([
  ['{ span.k =~ "b.*" }', false],
  ['{ .k > "s" || .l = 1 }', false],
  ['{ span.k = "a" && span.l != nil }', false],
  ['{ name = "play" || resource.k = "b" }', false],
  ['{ .service.name =~ "w.*" }', false],
  ['{ span.k =~ "a|b" }', true],
  ['{ resource.k >= "r" && name = "work" }', true],
  ['{ span.cpid.id = "a" }', true],
  ['{ span.k = "b" || status = error }', undefined],
  ['{ span.k = nil }', undefined],
  // Tempo reads the text nil for what is missing.
  ['{ (span.l = nil || name = "work") && span.l != "b" }', undefined],
  ['{ span.http.method != .k && span.http.method != "b" }', undefined],
])('of a span with k = "a" the test of %s is %s', (query, expected) => {
  const attributeOf = (value: string): Buffer =>
    Buffer.concat([message(1, Buffer.from('k')), message(2, ofText(value))])
  const { test: accepts } = asked(query, message(1, message(1, attributeOf('r'))))
  const bytes = Buffer.concat([message(5, Buffer.from('work')), message(9, attributeOf('a'))])
  expect(accepts && isAccepted(accepts, bytes)).toBe(expected)
})
