import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { renderTraceQlParser, TRACEQL_PARSER } from '../../scripts/gen-traceql.ts'
import { conditionsOf, withLists } from '../../src/query/traceql/conditions.ts'
import { FetchPlan } from '../../src/query/traceql/fetch-plan.ts'
import { compilePipeline } from '../../src/query/traceql/pipeline.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { MatchingEffort } from '../../src/query/traceql/evaluate-field.ts'
import { TraceQlError } from '../../src/query/traceql/syntax.ts'
import type { StoredAttribute, StoredTrace } from '../../src/query/traceql/trace-data.ts'

const attribute = (
  key: string,
  column: StoredAttribute['column'],
  ...values: StoredAttribute['values']
): StoredAttribute => ({ key, column, values })

const ROOT = 'a'.repeat(16)
const SCOPE = {
  bytes: 0,
  resourceId: 1,
  service: 'web',
  resource: [attribute('service.name', 'string', 'web')],
  name: 'lib',
  version: '1.0',
  attributes: [],
}
const TRACE: StoredTrace = {
  traceId: 'a'.repeat(32),
  spans: [
    {
      spanId: ROOT,
      parentId: '',
      name: 'change',
      kind: 1,
      status: 0,
      statusMessage: '',
      startNs: 0n,
      endNs: 2_000_000_000n,
      attributes: [attribute('only', 'string', 'root'), attribute('mixed', 'int', 7n)],
      events: [],
      links: [],
      scope: {
        ...SCOPE,
        resourceId: 2,
        service: 'kubectl',
        resource: [attribute('service.name', 'string', 'kubectl')],
      },
    },
    {
      spanId: 'b'.repeat(16),
      parentId: ROOT,
      name: 'GET /',
      kind: 2,
      status: 2,
      statusMessage: 'broken',
      startNs: 1_000_000_000n,
      endNs: 1_150_000_000n,
      attributes: [
        attribute('http.response.status_code', 'int', 500n),
        attribute('ok', 'boolean', false),
        attribute('odd name', 'string', 'a "quoted" text'),
        attribute('long', 'string', 'x'.repeat(4_097)),
        attribute('list', 'string', 'one', 'two'),
        attribute('big', 'int', 9_007_199_254_740_993n),
        attribute('load', 'float', 0.5),
        attribute('mixed', 'boolean', false),
      ],
      events: [
        {
          name: 'exception',
          sinceStartNs: 2_000n,
          attributes: [attribute('exception.type', 'string', 'Timeout')],
        },
      ],
      links: [
        {
          traceId: 'c'.repeat(32),
          spanId: 'd'.repeat(16),
          attributes: [attribute('kind', 'string', 'retry')],
        },
      ],
      scope: SCOPE,
    },
  ],
}

/** Without a turn for anybody else. */
function resultOf<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** The names of the spans that are found. */
function found(query: string): string[] {
  const pipeline = withLists(readTraceQl(query).pipeline)
  const effort = new MatchingEffort()
  const spans = resultOf(new FetchPlan(conditionsOf(pipeline), effort).spansOf(TRACE))
  if (spans.length === 0) return []
  const sets = resultOf(compilePipeline(pipeline, effort)([{ spans, attributes: [] }]))
  return sets.flatMap((set) => set.spans.map(({ stored }) => stored.name))
}

test.each([
  '{ name = "GET /" }',
  '{ name != "x" && kind = server }',
  '{ status = error && statusMessage =~ "brok.*" }',
  '{ duration > 100ms && duration < 1s } ',
  '{ duration = 150ms }',
  '{ 0.15s <= duration && duration <= 150000us }',
  '{ traceDuration = 2s && rootName = "change" && rootServiceName = "kubectl" && kind = server }',
  '{ resource.service.name = "web" }',
  '{ .service.name = `web` }',
  '{ span.http.response.status_code >= 500 }',
  '{ span.http.response.status_code < 501 && span.http.response.status_code != 400 }',
  '{ .ok = false }',
  '{ span."odd name" = "a \\"quoted\\" text" }',
  '{ span.list = "two" }',
  '{ span.list =~ "t.*" && span.list != "three" }',
  '{ span.nothing = nil && span.ok != nil }',
  '{ name = "x" || (name =~ "GET.*" && .ok = false) }',
  '{ name !~ "POST.*" && kind = server }',
  '{ name = "x" && name = "y" || kind = server }',
  '{ name = "x" || kind = server && true }',
  `{ link:traceID = "${'c'.repeat(32)}" && span:id = "${'b'.repeat(16)}" }`,
  `{ trace:id = "${'a'.repeat(32)}" && status = error }`,
  '{ span.big = 9007199254740993 }',
  '{ span.big - 9007199254740992 = 1 }',
  '{ -span.load < -0.4 }',
  '{ span.load * 4 = 2 }',
  '{ event:name = "exception" && event:timeSinceStart = 2us }',
  '{ event.exception.type = "Timeout" && link.kind = "retry" }',
  '{ instrumentation:name = "lib" && span.ok != nil }',
  '{ rootName = "change" } > { kind = server }',
  '{ name = "change" } >> { }',
  '{ } ~ { } || { status = error }',
  '({ } | count() > 1 | { status = error }) || ({ false } | count() > 1)',
  '{ } | by(name) | max(duration) < 1s',
  '{ } | by(resource.service.name) | coalesce() | count() = 2 | { status = error }',
  '{ nestedSetParent > 0 } // and nothing else',
  '{ span:childCount = 0 /* a leaf */ }',
  '{ kind = server } with (most_recent = true, sample = 0.1)',
  '{ duration < 1.5s && duration < 2m30s && duration < 1d && duration < 1w1d && status = error }',
])('%s finds the span', (query) => {
  expect(found(query)).toEqual(['GET /'])
})

test.each([
  '{}',
  '{ true }',
  '{ "a" = "a" }',
  '{ name = "change" } &> { }',
  '{ } | select(name)',
  // Values of several types: as in Tempo, true and false are more than any text or number.
  '{ } | min(.mixed) = 7',
  '{ duration > 1ns }',
  // As in Tempo: what is compared with a number that no duration can be is read of every span.
  '{ !(duration = 1.5) }',
  '{ !(duration = 1.5 || duration = 2.5) && !(traceDuration >= 1e30) }',
])('%s finds both', (query) => {
  expect(found(query).toSorted()).toEqual(['GET /', 'change'])
})

test.each([
  '{ false }',
  '{ name = "get /" }',
  '{ name =~ "GET" }',
  '{ status = ok }',
  '{ kind = client }',
  '{ duration > 1s && kind = server }',
  '{ resource.http.response.status_code = 500 }',
  '{ span.http.response.status_code = "500" }',
  '{ span.http.response.status_code = 500.0 }',
  '{ span.big = 9007199254740992 }',
  '{ span.load > 0 }',
  '{ span.nothing != "x" }',
  '{ span.nothing }',
  '{ span.http.response.status_code > "4" }',
  '{ span.constructor = "x" || .__proto__ != "x" || resource.toString }',
  '{ span.long =~ "x+" || span.long !~ "x+" }',
  '{ link:spanID = "e" }',
  '{ span.list = "three" }',
  // As in Tempo: only spans of which it is true are looked at.
  '{ !(name = "x") }',
  // As in Tempo: what stands on the right is read as if it stood on the left.
  '{ 1.5s > duration && kind = server }',
  '{ name = "GET /" } >> { }',
  '{ name = "change" } !>> { kind = server }',
  '{ } | count() > 2',
  '{ } | avg(span.nothing) > 0',
  '{ name = "change" } && { name = "x" }',
  // As in Tempo: nothing is true or something that is neither true nor false.
  '{ kind = server || span.nothing }',
  '{ kind = server || span.list }',
  '{ span.nothing || kind = server }',
])('%s finds none', (query) => {
  expect(found(query)).toEqual([])
})

test.each([
  ['{ } || { kind = server }', ['GET /', 'change']],
  ['{ name = "change" } || { }', ['change', 'GET /']],
  ['{ } && { kind = server }', ['GET /', 'change']],
])('%s finds the spans of its shorter side first, as in Tempo', (query, names) => {
  expect(found(query)).toEqual(names)
})

test.each([
  ['{', 'ends too soon'],
  ['name = "x"', 'line 1, column 1: name'],
  ['{} | count() > 2 > 1', 'column'],
  ['coalesce() | {}', 'column'],
  ['{} | count()', 'ends too soon'],
  ['({} | count() > 1) && {}', 'cannot read on'],
  ['{ service = "x" }', 'column 3: service = "x" }; texts stand in quotes, and attributes begin with a dot'],
  ['{ status = bad }', 'column 12: bad }; texts stand in quotes'],
  [
    '{ parent.x = 1 }',
    'parent.x cannot be asked for: ask for the parent itself, as in { span.x != nil } > { }',
  ],
  ['{ parent = 1 }', 'parent cannot be asked for: roots are found by { nestedSetParent < 0 }'],
  ['{ constructor = "x" }', 'column 3: constructor'],
  ['{ __proto__ = "x" }', 'column 3: __proto__'],
  ['{ toString }', 'column 3: toString'],
  ['{ name =~ "(" }', 'not a regular expression'],
  ['{ name =~ `(a)\\1` }', 'not a regular expression'],
  ['{ name =~ "(?=a)" }', 'not a regular expression'],
  ['{ name =~ "((x?){50}){50}" }', 'repeats too much'],
  [`{ name =~ "${'x'.repeat(257)}" }`, 'write at most 256'],
  [
    `{ ${Array(9).fill('name =~ "x"').join(' || ')} }`,
    'at most 8 regular expressions, and this one has 9: join',
  ],
  ['{ name =~ 3 }', 'cannot stand between'],
  ['{ .a =~ .b }', 'takes a text in quotes'],
  ['{ name = "x }', 'cannot read on'],
  ['{ name > nil }', 'nil can only'],
  ['{ name = nil }', 'never nil'],
  ['{ resource.service.name = nil }', 'never nil'],
  ['{ name = 1 }', 'cannot stand between a text and a number'],
  ['{ status > error }', 'does not take a status'],
  ['{ duration }', 'what is true or false; got a duration'],
  ['{ !duration }', '! does not take a duration'],
  ['{ nestedSetLeft > 1.5 }', 'nestedSetLeft cannot be compared with a number: write a whole number'],
  [
    '{ instrumentation:name = 1 }',
    'instrumentation:name cannot be compared with a number: write a text in quotes',
  ],
  ['{ span:id > "a" }', 'span:id can only be compared with = and !=, and not with >'],
  ['{ duration > 1ss }', 'no duration'],
  ['{ .a = 9223372036854775808 }', 'larger than an integer of 64 bits'],
  ['{ .a = 1e400 }', 'larger than a float of 64 bits'],
  ['{ .a = 08 }', 'leave out the zeros'],
  ['{ duration > 08s }', 'leave out the zeros'],
  ['{ .a\0 = 1 }', 'may not contain the character U+0000: leave it out'],
  ['{} | compare({ .a = 1 }, 5, 0, 10)', 'a start before its end'],
  ['{} | compare({ .a = 1 }, 5, 10, 0)', 'a start before its end'],
  ['{} | by(1)', 'something that spans have'],
  ['{} | avg(name) > 1', 'takes numbers; got a text'],
  ['{} | sum(3) = 2', 'something that spans have'],
  ['{} | min(.a) < max(duration)', 'is compared with a number: write the aggregate first'],
  ['{} | rate() | topk(0)', 'a number above 0'],
  ['{} | rate() by (.a, .b, .c, .d, .e, .f)', 'at most 5 attributes, and got 6'],
  ['{} | avg_over_time(duration) by (.a, .b, .c, .d, .e)', 'at most 4 attributes, and got 5'],
  ['{} | histogram_over_time(duration) by (.a, .b, .c, .d, .e)', 'at most 4 attributes, and got 5'],
  ['{} | quantile_over_time(duration, .5) by (.a, .b, .c, .d, .e)', 'at most 4 attributes, and got 5'],
  ['{} | compare({}) | topk(2)', 'nothing can come after'],
  ['{} | quantile_over_time(duration, 1.1)', 'between 0 and 1'],
  ['({} | rate()) % 2', 'cannot read on at line 1, column 7'],
  ['({} | compare({})) * 2', 'cannot read on at line 1, column 7'],
  ['({} | rate()) * 2s', 'cannot read on'],
  [`{ ${'('.repeat(600)}true${')'.repeat(600)} }`, 'nested 200 deep'],
  [`{ ${Array(300).fill('.a = 1').join(' || ')} }`, 'write several values as one, as in name =~ "a|b|c"'],
  ['{ name = "a" && }', 'column 17: }'],
  [
    '{ .a = "\\q" }',
    'stands for nothing in a text: write \\\\ for a backslash, or put the text in backticks',
  ],

  [`{ name = "${'x'.repeat(20_000)}" }`, 'at most 16384'],
])('%s is refused', (query, reason) => {
  expect(() => readTraceQl(query)).toThrow(TraceQlError)
  expect(() => readTraceQl(query)).toThrow(reason)
})

const LANGUAGE = JSON.parse(
  readFileSync(new URL('fixtures/tempo/language.json', import.meta.url), 'utf8'),
) as Record<'accepted' | 'refused', string[]>

function isAccepted(query: string): boolean {
  try {
    readTraceQl(query)
    return true
  } catch (error) {
    if (error instanceof TraceQlError) return false
    throw error
  }
}

test('what Tempo accepts is accepted, and what it refuses is refused', () => {
  expect(LANGUAGE.accepted.filter((query) => !isAccepted(query))).toEqual([])
  expect(LANGUAGE.refused.filter(isAccepted)).toEqual([])
})

test.each(['{ 1 / 0 = 1 && status = error }', '{ !.ok || name != "x" }', '({} | by(name)) >> {}'])(
  '%s fails where it is asked of spans',
  (query) => {
    expect(() => found(query)).toThrow(TraceQlError)
  },
)

test('an operation between kinds that do not match is refused, wherever it stands', () => {
  const wrong = fc.constantFrom(
    '1 + "x"',
    '1 - true',
    '1 / ok',
    '2s * "x"',
    '"x" ^ 2',
    '-"x" + 1',
    '1 % server',
  )
  const around = fc.constantFrom('1 + (#)', '(#) * 2', '.a - (#)', '-(#)', '(#) ^ .a', '3 / (#)')
  const compared = fc.constantFrom(
    '(#) = 1',
    '1 != (#)',
    '!((#) > 1)',
    'true || (#) < 2',
    '.a = 1 && (#) >= 1',
  )
  fc.assert(
    fc.property(wrong, fc.array(around, { maxLength: 3 }), compared, (field, outer, last) => {
      const query = [...outer, last, '{ # }'].reduce((inner, form) => form.replace('#', inner), field)
      expect(() => readTraceQl(query)).toThrow(TraceQlError)
    }),
  )
})

test('any text is read or refused', () => {
  const pieces =
    '{ } ( ) && || ! = =~ != >> &~ !< | - + * ^ "x" name .a span.b status error 1ms 1 .5 nil by( count() avg( select( coalesce() rate() with( ,'
  const piece = fc.constantFrom(...pieces.split(' '), ' ')
  const texts = [
    fc.string(),
    fc.array(piece).map((all) => all.join('')),
    fc.array(piece).map((all) => `{ ${all.join(' ')} }`),
  ]
  fc.assert(
    fc.property(fc.oneof(...texts), (query) => {
      try {
        found(query)
      } catch (error) {
        expect(error).toBeInstanceOf(TraceQlError)
      }
    }),
    { numRuns: 2_000 },
  )
})

const TOKEN = /"(?:[^"\\]|\\.)*"|`[^`]*`|(?:[\w.:]+(?:"(?:[^"\\]|\\.)*")?)+|&&|\|\||[=!]~|[!<>&]?[<>=~]+|\S/gs

test('comments and space may stand between any two words, and change nothing', () => {
  const queries = fc.constantFrom(
    '{ name = "GET /" && (.a != nil || -span."b c" ^ 2 < 1.5ms) } >> { } | by(1 + .a) | count() > -2 | coalesce() | select(.a, kind)',
    '({ .a = 1 || .a = 2 } | avg(duration) > 1s) && ({ !.b } | { status = error && .x =~ `x y` })',
    '{ } | quantile_over_time(duration, .5, 0.9) by (name, resource.x) | topk(5) > -1 with (exemplars = 5, sample = true)',
    '{ } | compare({ trace:duration > 1d }, 5, 10, 20)',
  )
  const gaps = fc.array(fc.constantFrom(' ', '\n', ' /* a * } */ ', ' // " {\n'), {
    minLength: 80,
    maxLength: 80,
  })
  fc.assert(
    fc.property(queries, gaps, (query, between) => {
      const words = query.match(TOKEN) ?? []
      const written = words.map((word, at) => (between[at] ?? '') + word).join('')
      expect({ written, read: readTraceQl(written) }).toEqual({ written, read: readTraceQl(query) })
    }),
  )
})

test('the parser is made of the grammar', () => {
  expect(readFileSync(TRACEQL_PARSER, 'utf8')).toBe(renderTraceQlParser())
})
