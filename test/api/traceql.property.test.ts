import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { message, nanos, number, WRONG } from '../support/protobuf-by-hand.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

/** A span as the model has it, and as it is sent. */
interface Span {
  id: string
  parent: string
  name: string
  service: string
  kind: number
  status: number
  /** In milliseconds. */
  duration: number
  attributes: Record<string, string | number | boolean>
  /** The bytes of a value in a wire type that it does not have, of the attribute `odd`: the model knows no such value. */
  odd: Buffer | undefined
}
type Trace = Span[]

const START_MS = 1_767_225_600_000
const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')
const names = fc.constantFrom('a', 'b', 'c')
const values = fc.record(
  {
    text: fc.constantFrom('x', 'y', 'z'),
    whole: fc.integer({ min: -2, max: 3 }),
    flag: fc.boolean(),
  },
  { requiredKeys: [] },
)
const spans = fc.record({
  name: names,
  service: fc.constantFrom('web', 'db'),
  kind: fc.integer({ min: 1, max: 3 }),
  status: fc.integer({ min: 0, max: 2 }),
  duration: fc.integer({ min: 0, max: 5 }),
  attributes: values,
  odd: fc.option(fc.constantFrom(...WRONG.map(([, , bytes]) => bytes)), { nil: undefined, freq: 2 }),
  /** Among those before it; -1 for a root, -2 for one that never came. */
  above: fc.integer({ min: -2, max: 8 }),
})

const traces = fc
  .array(fc.array(spans, { minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 6 })
  .map((all): Trace[] =>
    all.map((trace, number) =>
      trace.map(({ above, ...span }, at) => {
        const id = hex((number + 1) * 100 + at, 16)
        if (at === 0 || above === -1) return { ...span, id, parent: '' }
        const parent = above === -2 ? hex(9_999, 16) : hex((number + 1) * 100 + (above % at), 16)
        return { ...span, id, parent }
      }),
    ),
  )

/** What is asked of one span: its text, and whether it is true. */
interface Filter {
  text: string
  holds: (span: Span) => boolean
}

const STATUSES = ['unset', 'ok', 'error']
const KINDS = ['unspecified', 'internal', 'server', 'client']
const ORDER: Record<string, (a: number | string, b: number | string) => boolean> = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
}
const operators = fc.constantFrom(...Object.keys(ORDER))
const equality = fc.constantFrom('=', '!=')
const compare = (operator: string, a: number | string, b: number | string): boolean =>
  ORDER[operator]?.(a, b) ?? false

const leaves: fc.Arbitrary<Filter> = fc.oneof(
  fc.tuple(operators, names).map(([operator, value]) => ({
    text: `name ${operator} "${value}"`,
    holds: ({ name }: Span) => compare(operator, name, value),
  })),
  fc.tuple(equality, fc.constantFrom('web', 'db')).map(([operator, value]) => ({
    text: `resource.service.name ${operator} "${value}"`,
    holds: ({ service }: Span) => compare(operator, service, value),
  })),
  fc.tuple(operators, fc.integer({ min: 0, max: 5 })).map(([operator, value]) => ({
    text: `duration ${operator} ${value}ms`,
    holds: ({ duration }: Span) => compare(operator, duration, value),
  })),
  fc.tuple(equality, fc.integer({ min: 0, max: 2 })).map(([operator, value]) => ({
    text: `status ${operator} ${STATUSES[value]}`,
    holds: ({ status }: Span) => compare(operator, status, value),
  })),
  fc.tuple(equality, fc.integer({ min: 1, max: 3 })).map(([operator, value]) => ({
    text: `kind ${operator} ${KINDS[value]}`,
    holds: ({ kind }: Span) => compare(operator, kind, value),
  })),
  fc.tuple(operators, fc.constantFrom('x', 'y', 'z')).map(([operator, value]) => ({
    text: `span.text ${operator} "${value}"`,
    holds: ({ attributes: { text } }: Span) => text !== undefined && compare(operator, String(text), value),
  })),
  fc.tuple(operators, fc.integer({ min: -2, max: 3 })).map(([operator, value]) => ({
    text: `.whole ${operator} ${value}`,
    holds: ({ attributes: { whole } }: Span) =>
      whole !== undefined && compare(operator, Number(whole), value),
  })),
  fc.integer({ min: -2, max: 3 }).map((value) => ({
    text: `span.whole * 2 + 1 > ${value}`,
    holds: ({ attributes: { whole } }: Span) => whole !== undefined && Number(whole) * 2 + 1 > value,
  })),
  fc.constantFrom(true, false).map((value) => ({
    text: `span.flag = ${value}`,
    holds: ({ attributes: { flag } }: Span) => flag === value,
  })),
  fc.constantFrom('x|y', '[yz]', '.*').map((pattern) => ({
    text: `span.text =~ "${pattern}"`,
    holds: ({ attributes: { text } }: Span) =>
      text !== undefined && new RegExp(`^(?:${pattern})$`).test(String(text)),
  })),
  fc.constant({ text: 'span.text != nil', holds: ({ attributes: { text } }: Span) => text !== undefined }),
  fc.constantFrom('!= nil', '= 7', '> 0', '=~ ".*"', '= "seven"', '= true').map((asked) => ({
    text: `span.odd ${asked}`,
    holds: () => false,
  })),
  fc.constant({ text: 'nestedSetParent < 0', holds: ({ parent }: Span) => parent === '' }),
)

const filters = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    fc.tuple(tie('filter'), tie('filter'), fc.boolean()).map(([left, right, isBoth]): Filter => ({
      text: `(${left.text} ${isBoth ? '&&' : '||'} ${right.text})`,
      holds: (span) =>
        isBoth ? left.holds(span) && right.holds(span) : left.holds(span) || right.holds(span),
    })),
  ),
})).filter

/** What is asked of a trace: the ids of the spans that come out. */
interface Query {
  text: string
  found: (trace: Trace) => Set<string>
}

/** Which spans hang together with a root. */
function placed(trace: Trace): Set<string> {
  const found = new Set(trace.filter(({ parent }) => parent === '').map(({ id }) => id))
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const { id, parent } of trace) if (found.has(parent)) found.add(id)
  }
  return found
}

const RELATIONS: Record<string, (a: Span, b: Span, trace: Trace) => boolean> = {
  '>': (a, b) => b.parent === a.id,
  '<': (a, b) => a.parent === b.id,
  '~': (a, b) => a.id !== b.id && a.parent === b.parent,
  '>>': (a, b, trace) => isBelow(b, a, trace),
  '<<': (a, b, trace) => isBelow(a, b, trace),
}

function isBelow(span: Span, above: Span, trace: Trace): boolean {
  const parent = trace.find(({ id }) => id === span.parent)
  return parent !== undefined && (parent.id === above.id || isBelow(parent, above, trace))
}

const sets: fc.Arbitrary<Query> = filters.map((filter) => ({
  text: `{ ${filter.text} }`,
  found: (trace) => new Set(trace.filter((span) => filter.holds(span)).map(({ id }) => id)),
}))

const relations = fc
  .tuple(sets, sets, fc.constantFrom(...Object.keys(RELATIONS)), fc.constantFrom('', '!', '&'))
  .map(([left, right, relation, form]): Query => ({
    text: `${left.text} ${form}${relation} ${right.text}`,
    found: (trace) => {
      const tree = placed(trace)
      const spansOf = (ids: Set<string>): Span[] => trace.filter(({ id }) => ids.has(id))
      const [a, b] = [spansOf(left.found(trace)), spansOf(right.found(trace))]
      const stands = (one: Span, other: Span): boolean =>
        tree.has(one.id) && tree.has(other.id) && RELATIONS[relation]?.(one, other, trace) === true
      const ids = (all: Span[]): string[] => all.map(({ id }) => id)
      if (form === '!') return new Set(ids(b.filter((other) => !a.some((one) => stands(one, other)))))
      const onRight = ids(b.filter((other) => a.some((one) => stands(one, other))))
      if (form === '') return new Set(onRight)
      return new Set([...onRight, ...ids(a.filter((one) => b.some((other) => stands(one, other))))])
    },
  }))

const logic = fc.tuple(sets, sets, fc.boolean()).map(([left, right, isBoth]): Query => ({
  text: `${left.text} ${isBoth ? '&&' : '||'} ${right.text}`,
  found: (trace) => {
    const [a, b] = [left.found(trace), right.found(trace)]
    return isBoth && (a.size === 0 || b.size === 0) ? new Set() : new Set([...a, ...b])
  },
}))

const grouped = fc
  .tuple(sets, operators, fc.integer({ min: 1, max: 3 }), fc.constantFrom('', 'name', 'span.text'))
  .map(([inner, operator, value, by]): Query => ({
    text: `${inner.text}${by === '' ? '' : ` | by(${by})`} | count() ${operator} ${value}`,
    found: (trace) => {
      const groups = new Map<unknown, string[]>()
      for (const span of trace.filter(({ id }) => inner.found(trace).has(id))) {
        const key = by === '' ? '' : by === 'name' ? span.name : span.attributes['text']
        groups.set(key, [...(groups.get(key) ?? []), span.id])
      }
      return new Set([...groups.values()].filter((ids) => compare(operator, ids.length, value)).flat())
    },
  }))

const aggregated = fc
  .tuple(
    sets,
    fc.constantFrom('min', 'max', 'sum', 'avg'),
    fc.constantFrom('>', '<='),
    fc.integer({ min: -2, max: 6 }),
  )
  .map(([inner, aggregate, operator, value]): Query => ({
    text: `${inner.text} | ${aggregate}(span.whole) ${operator} ${value} | { true }`,
    found: (trace) => {
      const ids = inner.found(trace)
      const numbers = trace
        .filter(({ id }) => ids.has(id))
        .flatMap(({ attributes: { whole } }) => (whole === undefined ? [] : [Number(whole)]))
      if (numbers.length === 0) return new Set()
      const sum = numbers.reduce((a, b) => a + b, 0)
      const result = { min: Math.min(...numbers), max: Math.max(...numbers), sum, avg: sum / numbers.length }
      return compare(operator, result[aggregate], value) ? ids : new Set()
    },
  }))

const queries = fc.oneof(sets, relations, logic, grouped, aggregated)

function requestOf(all: Trace[]): Buffer {
  const text = (field: number, value: string): Buffer => message(field, Buffer.from(value))
  const id = (field: number, value: string): Buffer => message(field, Buffer.from(value, 'hex'))
  const attribute = (field: number, key: string, value: Buffer): Buffer =>
    message(field, text(1, key), message(2, value))
  const any = (value: string | number | boolean): Buffer =>
    typeof value === 'string'
      ? text(1, value)
      : number(typeof value === 'boolean' ? 2 : 3, BigInt.asUintN(64, BigInt(value)))
  const spanOf = (
    trace: number,
    { id: own, parent, name, kind, status, duration, attributes, odd }: Span,
  ): Buffer =>
    message(
      2,
      id(1, hex(trace, 32)),
      id(2, own),
      ...(parent === '' ? [] : [id(4, parent)]),
      text(5, name),
      number(6, BigInt(kind)),
      nanos(7, BigInt(START_MS) * 1_000_000n),
      nanos(8, BigInt(START_MS + duration) * 1_000_000n),
      message(15, number(3, BigInt(status))),
      ...Object.entries(attributes).map(([key, value]) => attribute(9, key, any(value))),
      ...(odd === undefined ? [] : [attribute(9, 'odd', odd)]),
    )
  const resources = all.flatMap((trace, at) =>
    trace.map((span) =>
      message(
        1,
        message(1, attribute(1, 'service.name', text(1, span.service))),
        message(2, spanOf(at + 1, span)),
      ),
    ),
  )
  return Buffer.concat(resources)
}

interface Answer {
  traces: { traceID: string; spanSets: { spans: { spanID: string }[] }[] }[]
  status?: string
}

test('what is found is what a model finds that looks at every span', async () => {
  await fc.assert(
    fc.asyncProperty(traces, fc.array(queries, { minLength: 12, maxLength: 12 }), async (all, asked) => {
      await using api = await QueryApi.over(async (path) => {
        const writer = await TestWriter.open({}, path)
        writer.ingest('traces', requestOf(all))
        writer.pass(1_000_000)
        return writer
      })
      for (const { text, found } of asked) {
        const expected = all.flatMap((trace, number) => {
          const ids = [...found(trace)].sort()
          return ids.length === 0 ? [] : [[hex(number + 1, 32), ids]]
        })
        const parameters = new URLSearchParams({ q: text, limit: '100', spss: '100' })
        const response = await api.fetch(`/tempo/api/search?${parameters.toString()}`)
        const answer = (await response.json()) as Answer
        const got = answer.traces.map(({ traceID, spanSets }) => [
          traceID,
          spanSets.flatMap((set) => set.spans.map(({ spanID }) => spanID)).sort(),
        ])
        expect({ text, got: Object.fromEntries(got) as unknown, status: answer.status }).toEqual({
          text,
          got: Object.fromEntries(expected) as unknown,
          status: undefined,
        })
      }
    }),
    { numRuns: 25, interruptAfterTimeLimit: 60_000 },
  )
})

interface JaegerAnswer {
  data: { traceID: string; spans: { spanID: string }[] }[]
  errors: unknown
}

test('Jaeger finds the traces that the model finds, and shows all of their spans', async () => {
  const asked = fc.record({
    service: fc.constantFrom('web', 'db'),
    text: fc.constantFrom('x', 'y', 'z'),
  })
  await fc.assert(
    fc.asyncProperty(traces, fc.array(asked, { minLength: 4, maxLength: 4 }), async (all, questions) => {
      await using api = await QueryApi.over(async (path) => {
        const writer = await TestWriter.open({}, path)
        writer.ingest('traces', requestOf(all))
        writer.pass(1_000_000)
        return writer
      })
      for (const { service, text } of questions) {
        const expected = all.flatMap((trace, at) =>
          trace.some((span) => span.service === service && span.attributes['text'] === text)
            ? [[hex(at + 1, 32), trace.map(({ id }) => id).sort()]]
            : [],
        )
        const parameters = new URLSearchParams({ service, tags: JSON.stringify({ text }) })
        const response = await api.fetch(`/jaeger/api/traces?${parameters.toString()}`)
        const { data, errors } = (await response.json()) as JaegerAnswer
        const got = data.map(({ traceID, spans: shown }) => [
          traceID,
          shown.map(({ spanID }) => spanID).sort(),
        ])
        expect({ got: got.sort(), errors }).toEqual({ got: expected.sort(), errors: null })
      }
    }),
    { numRuns: 10, interruptAfterTimeLimit: 60_000 },
  )
})
