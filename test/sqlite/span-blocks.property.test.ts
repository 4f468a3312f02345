import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tempoMetricsJson } from '../../src/query/tempo-metrics-json.ts'
import { findTraces, type FoundTrace, SearchEffort } from '../../src/query/trace-search.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import type { CausewayQueries, SentTrace, SentTraceRange, SpanHint } from '../../src/model/queries.ts'
import { sqliteFaults } from '../../src/store/sqlite/open-database.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'
import { blockTest, SpanBlocks } from '../../src/store/sqlite/span-blocks.ts'
import { damagePages, pagesOf } from '../support/damage.ts'
import { cpid, type SpanSketch, START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const HOUR_MS = 3_600_000
const TEN_MINUTES_MS = 600_000
const NEVER_FULL = 2 ** 40
const TEXTS = ['a', 'b', 'c', 'd', 'e', 'ü', 'f\u0000', 'cpid.x', '']

const text = fc.constantFrom(...TEXTS)
const key = fc.constantFrom('k', 'l', 'm', 'cpid.y')
const value = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.integer({ min: 0, max: 2 }), fc.boolean())
const attributes = fc.dictionary(key, value, { maxKeys: 2 })
const span = fc.record(
  {
    trace: fc.integer({ min: 1, max: 9 }),
    parent: fc.integer({ min: 1, max: 40 }),
    name: text,
    cpid: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 11, max: 20 })).map(cpid),
    status: fc.integer({ min: 0, max: 2 }),
    length: fc.integer({ min: 0, max: 4 }),
    lateMs: fc.constantFrom(0, TEN_MINUTES_MS / 2, TEN_MINUTES_MS, HOUR_MS, -HOUR_MS),
    statusMessage: text,
    attributes,
    event: fc.record({ name: text, note: text }),
  },
  { requiredKeys: ['trace'] },
)

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      service: fc.constantFrom('web', 'db', 'queue'),
      spans: fc.array(span, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('merge' as const),
      of: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('settle' as const, 'prune' as const) }) },
)

/** What happens to what is kept of blocks before questions are asked. */
const keeping = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('keep' as const), steps: fc.nat({ max: 9 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('nothing' as const, 'undo' as const),
      steps: fc.nat({ max: 9 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('damage' as const), steps: fc.nat({ max: 99 }) }) },
)

const literal = text.map((one) => JSON.stringify(one))
const condition = fc.oneof(
  literal.map((one) => `name = ${one}`),
  literal.map((one) => `statusMessage = ${one}`),
  literal.map((one) => `event:name = ${one}`),
  fc.tuple(key, literal).map(([name, one]) => `span.${name} = ${one}`),
  fc.tuple(key, literal).map(([name, one]) => `.${name} = ${one}`),
  fc.tuple(key, literal).map(([name, one]) => `event.${name} = ${one}`),
  fc.tuple(key, fc.integer({ min: 0, max: 2 })).map(([name, one]) => `span.${name} = ${one}`),
  fc.oneof(key, fc.constantFrom('cpid.original_trace_id', 'cpid.copy')).map((name) => `span.${name} != nil`),
  fc
    .tuple(
      fc.constantFrom('span.', '.', 'resource.', 'event.'),
      fc.oneof(key, fc.constantFrom('cpid.id', 'cpid.copy', 'service.name', 'name')),
      fc.constantFrom('!=', '=~', '!~', '>', '<='),
      literal,
    )
    .map(([scope, name, operator, one]) => `${scope}${name} ${operator} ${one}`),
  fc
    .tuple(key, fc.constantFrom('!= 1', '> 0', '<= 1', '!= true', '= nil'))
    .map((parts) => `span.${parts.join(' ')}`),
  fc.constantFrom(
    'span.cpid.id =~ ".*2"',
    '.cpid.id !~ ".*[12]"',
    '.service.name =~ "w.*"',
    '!(span.k = "a")',
    '.k > .l',
  ),
  fc.integer({ min: 1, max: 40 }).map((id) => `span.number = "number ${id}"`),
  fc.constantFrom('=', '>', '>=', '<', '<=').map((operator) => `duration ${operator} 2ms`),
  fc.constantFrom('unset', 'ok', 'error').map((one) => `status = ${one}`),
  fc.constantFrom('internal', 'server', 'unspecified').map((one) => `kind = ${one}`),
  fc.constantFrom('web', 'db', 'nobody').map((one) => `resource.service.name = "${one}"`),
  fc
    .tuple(
      fc.constantFrom('name', 'resource.service.name'),
      fc.constantFrom('!=', '=~', '!~', '>', '<='),
      literal,
    )
    .map((parts) => parts.join(' ')),
  fc.constantFrom('name =~ "c.*"', 'name =~ "[ab]|merge"', 'resource.service.name =~ "w.b|db"'),
  fc.constantFrom('cascade', 'merge', 'change -').map((one) => `name = "${one}"`),
)
const relation = fc.constantFrom('>>', '>', '<<', '<', '~', '&&', '||', '!>', '!>>', '!~', '&>>', '&<', '&~')
/** Stages of a pipeline. */
const followedBy = fc.array(
  fc.oneof(
    condition.map((one) => `| { ${one} }`),
    fc.constantFrom(
      ...['| count() > 1', '| avg(duration) > 1ms', '| by(name)', '| by(.k)', '| coalesce()'],
      ...['| by(name) | count() > 1', '| select(.k, .cpid.id)', '| max(duration) < 4ms'],
    ),
  ),
  { minLength: 1, maxLength: 2 },
)
const asked = fc.oneof(
  condition.map((one) => `{ ${one} }`),
  fc
    .tuple(condition, fc.constantFrom('&&', '||'), condition)
    .map(([one, operator, other]) => `{ ${one} ${operator} ${other} }`),
  fc
    .tuple(condition, relation, condition)
    .map(([one, operator, other]) => `{ ${one} } ${operator} { ${other} }`),
  fc
    .tuple(condition, relation, condition, relation, condition)
    .map(([one, first, other, second, third]) => `({ ${one} } ${first} { ${other} }) ${second} { ${third} }`),
  fc
    .tuple(condition, fc.option(fc.tuple(relation, condition)), followedBy)
    .map(([one, other, then]) =>
      [`{ ${one} }`, ...(other === null ? [] : [`${other[0]} { ${other[1]} }`]), ...then].join(' '),
    ),
)

const moment = fc
  .integer({ min: 0, max: 10 })
  .map((tens) => START_NS + BigInt(tens * TEN_MINUTES_MS) * 1_000_000n)
const range: fc.Arbitrary<SentTraceRange> = fc.oneof(
  fc.constant({}),
  fc.record({ fromNs: moment }),
  fc.record({ toNs: moment }),
  fc.record({ fromNs: moment, toNs: moment }),
)
const question = fc.record({ q: asked, range })

type DrawnSpan = typeof span extends fc.Arbitrary<infer Drawn> ? Drawn : never

function store(writer: TestWriter, service: string, spans: readonly DrawnSpan[], first: number): void {
  writer.spans(
    service,
    spans.map(({ length = 1, lateMs = 0, event, attributes: own, ...sketch }, at): SpanSketch => ({
      ...sketch,
      attributes: { ...own, number: `number ${first + at}` },
      id: first + at,
      start: sketch.trace * TEN_MINUTES_MS + first + lateMs,
      end: sketch.trace * TEN_MINUTES_MS + first + lateMs + length,
      ...(event !== undefined && {
        events: [
          {
            timeUnixNano: String(START_NS),
            name: event.name,
            attributes: [{ key: 'm', value: { stringValue: event.note } }],
          },
        ],
      }),
    })),
  )
}

/** What a search finds of the traces of a time; no more spans than there are. */
function searched<T>(
  queries: CausewayQueries,
  { q, range }: { q: string; range: SentTraceRange },
  show: (found: FoundTrace) => T,
): T[] {
  const effort = new SearchEffort(
    () => 0,
    () => 0,
  )
  const search = { pipeline: readTraceQl(q).pipeline, limit: 1_000, spansPerTrace: 100, ...range }
  const turns = findTraces(queries, search, effort, show)
  for (;;) {
    const turn = turns.next()
    if (turn.done === true) return turn.value
  }
}

const found = (queries: CausewayQueries, one: { q: string; range: SentTraceRange }): string[] =>
  searched(queries, one, ({ trace, sets }) =>
    [trace.traceId, ...sets.flatMap(({ spans }) => spans.map(({ stored }) => stored.spanId)).sort()].join(
      ' ',
    ),
  ).sort()

const STEP_NS = BigInt(TEN_MINUTES_MS) * 1_000_000n

/** How many spans begin in each ten minutes, by name. */
function counted(queries: CausewayQueries, q: string, { fromNs, toNs }: Required<SentTraceRange>): unknown {
  const asking = {
    query: readTraceQl(`${q} | count_over_time() by (name)`),
    range: { fromNs, toNs, stepNs: STEP_NS, isInstant: false },
    ...{ series: 1_000, exemplars: 100 },
  }
  const { series } = JSON.parse([...tempoMetricsJson(queries, asking, () => 0)].join('')) as {
    series: {
      labels: { value: { stringValue: string } }[]
      samples: { value?: number }[]
    }[]
  }
  return Object.fromEntries(
    series.map(({ labels, samples }) => [
      String(labels[0]?.value.stringValue),
      samples.map(({ value = 0 }) => value),
    ]),
  )
}

/** The same, of all spans that a search finds. */
function countedOneByOne(
  queries: CausewayQueries,
  q: string,
  range: Required<SentTraceRange>,
): Record<string, number[]> {
  const { fromNs, toNs } = range
  const counts: Record<string, number[]> = {}
  searched(queries, { q, range }, ({ sets }) => {
    for (const { stored } of sets.flatMap(({ spans }) => spans)) {
      const { name, startNs } = stored
      if (startNs <= fromNs || startNs > toNs) continue
      const ofName = (counts[name] ??= Array<number>(Number((toNs - fromNs) / STEP_NS)).fill(0))
      const at = Number((startNs - fromNs - 1n) / STEP_NS)
      ofName[at] = (ofName[at] ?? 0) + 1
    }
    return true
  })
  return counts
}

/** Keeps what blocks contain, in so many steps. */
function keep({ writer }: TestWriter, steps: number): void {
  let left = steps
  writer.keepSpanBlocks(() => left-- > 0)
}

/** The disk is full when that is to be committed. */
function keepInVain(writer: TestWriter, steps: number): void {
  const full = new Error('the disk is full')
  const work = (): void =>
    writer.writer.inOneCommit(() => {
      keep(writer, steps)
      throw full
    })
  expect(work).toThrow(full)
}

/** One byte of what is kept is another. */
function damage({ db }: TestWriter, at: number): void {
  for (const table of ['span_blocks', 'own_span_blocks', 'long_traces'])
    db.prepare(
      `UPDATE ${table} SET facts = CAST(substr(facts, 1, @at % length(facts)) || x'00'
         || substr(facts, @at % length(facts) + 2) AS BLOB)`,
    ).run({ at })
}

test('what is known of blocks hides nothing, whatever comes and goes between searches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          step,
          keeping,
          restarts: fc.boolean(),
          asked: fc.array(question, { minLength: 1, maxLength: 4 }),
        }),
        {
          minLength: 1,
          maxLength: 20,
        },
      ),
      fc.integer({ min: 1, max: 5 }),
      async (steps, rowsABlock) => {
        using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR_MS }, rowsABlock })
        let remembering = sqliteQueries(writer.db, rowsABlock)
        const reading = sqliteQueries(writer.db, NEVER_FULL)
        let id = 1
        for (const { step: one, keeping: kept, restarts, asked: questions } of steps) {
          if (one.do === 'store') {
            store(writer, one.service, one.spans, id)
            id += one.spans.length
          } else if (one.do === 'merge') {
            writer.mergelogs('web', [{ new: cpid(10 + id++), sources: one.of.map(cpid) }])
          } else if (one.do === 'settle') writer.pass(HOUR_MS / 2)
          else {
            writer.pass(2 * HOUR_MS)
            while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
          }
          writer.link()
          if (kept.do === 'keep') keep(writer, kept.steps)
          else if (kept.do === 'undo') keepInVain(writer, kept.steps)
          else if (kept.do === 'damage') damage(writer, kept.steps)
          if (restarts) remembering = sqliteQueries(writer.db, rowsABlock)
          for (const one of questions) {
            expect([one, ...found(remembering, one)]).toEqual([one, ...found(reading, one)])
            const { fromNs = START_NS, toNs = fromNs + 6n * STEP_NS } = one.range
            if (toNs <= fromNs) continue
            const time = { fromNs, toNs }
            expect([one, counted(remembering, one.q, time)]).toEqual([
              one,
              countedOneByOne(reading, one.q, time),
            ])
          }
        }
      },
    ),
    { numRuns: 40 },
  )
})

test('two conditions of a query may be met by spans of different blocks', async () => {
  using writer = await TestWriter.open({ rowsABlock: 1 })
  const spans = [1, 2, 3].map((id) => ({ trace: 1, id, name: `name ${id}`, start: id, end: id + id }))
  for (const span of spans) writer.spans('web', [{ ...span, ...(span.id > 1 && { parent: 1 }) }])
  writer.pass(HOUR_MS)
  const queries = sqliteQueries(writer.db, 1)
  const ids = (q: string): string[] => found(queries, { q, range: {} })
  const trace = '1'.padStart(32, '0')
  expect(ids('{ name =~ ".*1" } >> { duration > 1ms }')).toEqual([
    `${trace} ${['2', '3'].map((id) => id.padStart(16, '0')).join(' ')}`,
  ])
  expect(ids('{ name =~ ".*3" } && { duration <= 1ms }')).toHaveLength(1)
  expect(ids('{ name =~ ".*4" } && { duration <= 1ms }')).toEqual([])
})

test('a search by time finds the spans of other times of traces that go on in it', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 24 * HOUR_MS }, rowsABlock: 2 })
  const late = [0, 1, 2, 3, 4, 5].map((hours) => hours * HOUR_MS)
  for (const [at, start] of late.entries()) {
    const [long, other] = [2 * at + 1, 2 * at + 2]
    writer.spans('web', [
      { trace: 1, id: long, name: `long ${at}`, start, end: start + 1 },
      { trace: other, id: other, name: `other ${at}`, start, end: start + 1 },
    ])
  }
  writer.pass(HOUR_MS / 2)
  const inHour = (hour: number): SentTraceRange => ({
    fromNs: START_NS + BigInt(hour * HOUR_MS - 1_000) * 1_000_000n,
    toNs: START_NS + BigInt(hour * HOUR_MS + 1_000) * 1_000_000n,
  })
  const ask = (queries: CausewayQueries): unknown[] =>
    [0, 2, 5].map((hour) =>
      ['long 0', 'long 3', 'long 5', 'other 2'].map(
        (name) => found(queries, { q: `{ name = "${name}" }`, range: inHour(hour) }).length,
      ),
    )
  const expected = [
    [1, 1, 1, 0],
    [1, 1, 1, 1],
    [1, 1, 1, 0],
  ]
  expect(ask(sqliteQueries(writer.db, 2))).toEqual(expected)
  // As in a database of an earlier version: the first block that is read says when a trace began.
  writer.db.exec('UPDATE origin_traces SET first_ns = NULL')
  expect(ask(sqliteQueries(writer.db, 2))).toEqual(expected)
  keep(writer, 100)
  expect(writer.db.prepare('SELECT count(*) FROM origin_traces WHERE first_ns IS NULL').pluck().get()).toBe(1)
  expect(ask(sqliteQueries(writer.db, 2))).toEqual(expected)
})

test('a search by time looks at few spans of traces that go on in it at once', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 24 * HOUR_MS }, rowsABlock: 1_000 })
  const spans = Array.from({ length: 3_000 }, (_, at) => ({ trace: 1, id: at + 1, name: 'early', start: 0 }))
  writer.spans('web', spans)
  writer.spans('web', [{ trace: 1, id: 4_000, name: 'late', start: 5 * HOUR_MS }])
  writer.pass(HOUR_MS / 2)
  const at = START_NS + BigInt(2 * HOUR_MS) * 1_000_000n
  const pages = (value: string): (readonly SentTrace[])[] => [
    ...sqliteQueries(writer.db, 1_000).tracesForwarded({ fromNs: at, toNs: at }, { kind: 'name', value }),
  ]
  const [blocks, parts] = [4, 3]
  expect(pages('nobody').length).toBeGreaterThanOrEqual(blocks + parts)
  expect(pages('nobody').flat()).toEqual([])
  expect(['early', 'late'].map((name) => pages(name).flat().length)).toEqual([1, 1])
})

test('of blocks that are damaged nothing is kept, and of those after them it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-span-blocks-'))
  const path = join(folder, 'causeway.db')
  const [spans, rowsABlock] = [200, 8]
  {
    using writer = await TestWriter.open({ rowsABlock }, path)
    for (let id = 1; id <= spans; id++)
      writer.spans('web', [{ trace: id, id, attributes: { text: 'x'.repeat(500) } }])
    writer.link()
    writer.shortenLog()
  }
  const leaves = pagesOf(path, 'spans', 'leaf')
  damagePages(path, leaves.slice(4, 6))
  using writer = await TestWriter.open({ rowsABlock }, path)
  const keepAll = (): void => void writer.writer.keepSpanBlocks(() => true)
  // Each damaged block ends a turn, and is passed over in the next one.
  let turns = 0
  for (let isOver = false; !isOver; turns++) {
    try {
      keepAll()
      isOver = true
    } catch (error) {
      expect([sqliteFaults.of(error), String(error)]).toEqual([undefined, expect.stringContaining('doctor')])
    }
  }
  const kept = writer.db.prepare<[], number>('SELECT after FROM span_blocks').pluck().all()
  expect([kept[0], kept.at(-1)]).toEqual([0, spans - 2 * rowsABlock])
  expect(kept).toHaveLength(spans / rowsABlock - turns)
  expect(turns).toBeGreaterThan(1)
  rmSync(folder, { recursive: true })
})

test('blocks are passed over by each kind of hint, and read where a span meets it', async () => {
  using writer = await TestWriter.open()
  for (const id of [1, 2, 3, 4, 5]) {
    writer.spans(id < 3 ? 'web' : 'db', [
      {
        ...{ trace: id, id, name: `name ${id}`, status: id % 3, start: 0, end: id },
        attributes: { number: `number ${id}`, list: ['x', `element ${id}`], 'cpid.note': `note ${id}` },
        events: [{ timeUnixNano: String(START_NS), name: `event ${id}` }],
        // So long that a block is read in several steps.
        statusMessage: id === 3 ? 'x'.repeat(600_000) : `message ${id}`,
      },
    ])
  }
  // Rows 1 and 2 are a block, 3 and 4 are another, 5 may get company.
  const blocks = SpanBlocks.received(writer.db, 2)
  const mayHold = (row: number, hint: SpanHint): boolean => {
    const turns = blocks.mayHold(
      row,
      row,
      blockTest(hint, ({ kind }) =>
        kind === 'scope' ? [] : scopesOf(writer, kind === 'service' ? 'db' : 'web'),
      ),
    )
    for (;;) {
      const turn = turns.next()
      if (turn.done === true) return turn.value
    }
  }
  const hints: [SpanHint, boolean[]][] = [
    [{ kind: 'holds', text: 'number 2' }, [true, false, true]],
    [{ kind: 'holds', text: 'element 3' }, [false, true, true]],
    [{ kind: 'holds', text: 'event 4' }, [false, true, true]],
    [{ kind: 'holds', text: 'message 1' }, [true, false, true]],
    [{ kind: 'holds', text: 'list' }, [true, true, true]],
    [{ kind: 'holds', text: 'numb' }, [false, false, true]],
    [{ kind: 'holds', text: 'note 1' }, [false, false, true]],
    [{ kind: 'name', value: 'name 3' }, [false, true, true]],
    [{ kind: 'names', accepts: (name) => name > 'name 4' }, [false, false, true]],
    [{ kind: 'services', accepts: (name) => name === 'web' }, [true, false, true]],
    [{ kind: 'status', value: 0 }, [false, true, true]],
    [{ kind: 'kind', value: 2 }, [false, false, true]],
    [{ kind: 'duration', operator: '>', value: 3_000_000n }, [false, true, true]],
    [{ kind: 'duration', operator: '<=', value: 1_000_000n }, [true, false, true]],
    [{ kind: 'service', value: 'db' }, [false, true, true]],
    [{ kind: 'scope', text: 'nothing' }, [false, false, true]],
  ]
  for (const [hint, expected] of hints)
    expect([hint, [1, 3, 5].map((row) => mayHold(row, hint))]).toEqual([hint, expected])
  const times = [0, 1, 2].map((block) => {
    const facts = blocks.known(block)
    return facts && [facts.firstNs - START_NS, facts.lastNs - START_NS]
  })
  expect(times).toEqual([[0n, 2_000_000n], [0n, 4_000_000n], undefined])
  const lengths = writer.db.prepare<[], number>('SELECT length(raw) FROM spans ORDER BY id').pluck().all()
  const bytes = [0, 2].map((from) => (lengths[from] ?? 0) + (lengths[from + 1] ?? 0))
  expect([0, 1].map((block) => blocks.known(block)?.bytes)).toEqual(bytes)
})

function scopesOf(writer: TestWriter, service: string): number[] {
  return writer.db
    .prepare<[string], number>(
      'SELECT scopes.id FROM scopes JOIN resources ON resources.id = scopes.resource WHERE service = ?',
    )
    .pluck()
    .all(service)
}
