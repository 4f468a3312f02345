import { setImmediate as immediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from '@jest/globals'
import { answer } from '../../src/query/answer.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

interface Found {
  traces: { traceID: string; spanSets: { spans: { name: string }[] }[] }[]
  status?: string
  message?: string
  metrics: { completedJobs: number; totalJobs: number; inspectedTraces: number; inspectedBytes: string }
}

const START_NS = 1_767_225_600_000_000_000n

function search(writer: TestWriter, query: string, options?: Parameters<typeof piecesOf>[2]): Found {
  return JSON.parse(piecesOf(writer, query, options).join('')) as Found
}

function piecesOf(
  writer: TestWriter,
  query: string,
  { limit = 20, fromMs, nowMs = () => 0 }: { limit?: number; fromMs?: number; nowMs?: () => number } = {},
): string[] {
  const range = fromMs === undefined ? {} : { fromNs: START_NS + BigInt(fromMs) * 1_000_000n }
  const found = answer(
    writer.queries(),
    {
      kind: 'searchTraces',
      shape: 'tempo',
      search: { pipeline: readTraceQl(query).pipeline, ...range, limit, spansPerTrace: 3 },
    },
    nowMs,
  )
  if (found.kind !== 'found') throw new Error(found.kind)
  return [...found.pieces]
}

const MANY = 6_000

/** Something rare, in a trace of its own and in a cascade, and much that came after it. */
async function rare(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }])
  writer.spans('web', [
    { trace: 1, id: 1, name: 'rare', start: 0 },
    {
      trace: 2,
      id: 2,
      name: 'rare',
      cpid: cpid(1),
      start: 1,
      end: 5_000,
      attributes: { 'user.name': 'alice' },
    },
  ])
  writer.pass(1_000_000)
  writer.spans(
    'web',
    Array.from({ length: MANY }, (_, at) => ({
      trace: 10 + at,
      id: 10 + at,
      name: 'common',
      start: 7_200_000 + at,
    })),
  )
  for (let number = 2; number < 300; number++) {
    writer.mergelogs('kubectl', [{ new: cpid(number), time: 7_200_000 + number }])
    writer.spans('web', [
      {
        trace: 10_000 + number,
        id: 10_000 + number,
        name: 'common',
        cpid: cpid(number),
        start: 7_200_000 + number,
      },
    ])
  }
  writer.pass(1_000_000)
  return writer
}

test.each([
  '{ name = "rare" }',
  '{ name =~ "ra.*" }',
  '{ span.user.name = "alice" || name = "rare" }',
  '{ name !~ "c.*" }',
])('%s finds what came first of all', async (query) => {
  using writer = await rare()
  const { traces, status } = search(writer, query)
  expect(traces.map(({ spanSets }) => spanSets[0]?.spans[0]?.name)).toEqual(['rare', 'rare'])
  expect(status).toBeUndefined()
})

test('spans are passed over that have not what is asked for, and counted where they are read', async () => {
  using writer = await rare()
  expect(search(writer, '{ name = "rare" }').metrics).toMatchObject({ inspectedTraces: 2, completedJobs: 1 })
  const all = search(writer, '{ name =~ "rar." }').metrics
  expect(all.inspectedTraces).toBe(MANY + 1 + 299)
  expect(Number(all.inspectedBytes)).toBeGreaterThan(MANY * 50)
  expect(search(writer, '{ span.user.name = "nobody" }')).toMatchObject({
    traces: [],
    metrics: { inspectedTraces: 0, completedJobs: 1 },
  })
  expect(search(writer, '{ duration = 4999ms }').traces).toHaveLength(1)
})

test('only traces of the time asked for are found', async () => {
  using writer = await rare()
  expect(search(writer, '{ name = "rare" }', { fromMs: 0 }).traces).toHaveLength(2)
  // The cascade lasts until then.
  expect(search(writer, '{ name = "rare" }', { fromMs: 4_000 }).traces).toHaveLength(1)
  expect(search(writer, '{ name = "rare" }', { fromMs: 5_001 }).traces).toHaveLength(0)
  expect(search(writer, '{ name = "common" }', { fromMs: 7_000_000 }).traces).toHaveLength(20)
})

test('the newest traces are shown', async () => {
  using writer = await rare()
  const { traces } = search(writer, '{}', { limit: 3 })
  expect(traces.map(({ traceID }) => traceID)).toEqual(
    [MANY + 9, MANY + 8, MANY + 7].map((number) => number.toString(16).padStart(32, '0')),
  )
})

test('a search that takes too long says that it is not complete', async () => {
  using writer = await rare()
  let now = 0
  const found = search(writer, '{ name =~ "rar." }', { nowMs: () => (now += 9_000) })
  expect(found).toMatchObject({ traces: [], status: 'PARTIAL', metrics: { completedJobs: 0, totalJobs: 1 } })
  expect(found.message).toContain('ask about a shorter time')
})

test('a search that fails on a span says that it is not complete', async () => {
  using writer = await rare()
  expect(search(writer, '{ 1 / 0 = 1 }')).toMatchObject({
    traces: [],
    status: 'PARTIAL',
    message: 'the query divides an integer by zero: leave such spans out with a condition before it',
  })
})

test('a trace without a root says so, as in Tempo', async () => {
  using writer = await TestWriter.open()
  writer.spans('web', [
    { trace: 1, id: 1, start: 2 },
    { trace: 2, id: 2, parent: 9, start: 1 },
  ])
  writer.pass(1_000_000)
  expect(search(writer, '{}').traces).toMatchObject([
    { rootServiceName: 'web' },
    { rootServiceName: '<root span not yet received>' },
  ])
})

// As Tempo, which has a column of single values for it.
test.each([
  ['http.method', { '= "GET"': 0, '= nil': 1 }],
  ['method', { '= "GET"': 1, '= nil': 0 }],
])('a list of one value in %s', async (name, found) => {
  using writer = await TestWriter.open()
  writer.spans('web', [{ trace: 1, id: 1, attributes: { [name]: ['GET'] } }])
  writer.pass(1_000_000)
  const counts = Object.keys(found).map((is) => [is, search(writer, `{ span.${name} ${is} }`).traces.length])
  expect(Object.fromEntries(counts)).toEqual(found)
})

test('a trace of many spans is looked through in turns', async () => {
  using writer = await TestWriter.open()
  writer.spans(
    'web',
    Array.from({ length: 3_000 }, (_, at) => ({ trace: 1, id: at + 1, name: `work ${at}`, start: at })),
  )
  writer.pass(1_000_000)
  const pieces = piecesOf(writer, '{ name =~ "work 7.." } | by(name) | max(duration) >= 0')
  expect(pieces.filter((piece) => piece === '').length).toBeGreaterThan(30)
  expect(pieces.join('')).toContain('"traceID"')
})

test('large cascades are looked through in turns, though none has what is looked for', async () => {
  using writer = await TestWriter.open()
  const note = 'a'.repeat(2 ** 20)
  for (let at = 1; at <= 12; at++) {
    writer.mergelogs('kubectl', [{ new: cpid(at) }])
    for (const id of [1, 2]) writer.spans('web', [{ trace: at, id, cpid: cpid(at), attributes: { note } }])
  }
  writer.pass(1_000_000)
  const pieces = piecesOf(writer, '{ span.note = "zebra" }')
  expect(pieces.filter((piece) => piece === '').length).toBeGreaterThanOrEqual(4)
  expect(
    piecesOf(writer, '{ span.note != nil }', { limit: 100 })
      .join('')
      .match(/"traceID"/g),
  ).toHaveLength(12)
})

test('large spans that were forwarded are searched in turns', async () => {
  using writer = await TestWriter.open()
  const note = 'a'.repeat(2 ** 20)
  for (let trace = 1; trace <= 24; trace++) writer.spans('web', [{ trace, id: 1, attributes: { note } }])
  writer.pass(1_000_000)
  const pieces = piecesOf(writer, '{ span.note = "zebra" }')
  expect(pieces.filter((piece) => piece === '').length).toBeGreaterThanOrEqual(4)
})

/** Of one trace: to match each of them takes many steps. */
function writeCostlySpans(writer: TestWriter): void {
  const note = (at: number): string => `${at}${'a'.repeat(3_000)}b`
  writer.spans(
    'web',
    Array.from({ length: 12 }, (_, at) => ({ trace: 1, id: at + 1, attributes: { note: note(at) } })),
  )
  writer.pass(1_000_000)
}

test('each span of a trace may cost what a span may cost', async () => {
  using writer = await TestWriter.open()
  writeCostlySpans(writer)
  const { traces, status } = search(writer, '{ span.note =~ "[0-9]+(?:.?){200}a*b" }')
  expect({ spans: traces[0]?.spanSets[0]?.spans.length, status }).toEqual({ spans: 3, status: undefined })
})

test('a trace with more bytes than are looked into is passed over, and the answer says so', async () => {
  using writer = await TestWriter.open()
  const note = 'a'.repeat(2 ** 20)
  for (let at = 1; at <= 65; at++) writer.spans('web', [{ trace: 1, id: at, attributes: { note } }])
  writer.spans('web', [{ trace: 2, id: 1, attributes: { note } }])
  writer.pass(1_000_000)
  const found = search(writer, '{ span.note != nil }')
  expect(found).toMatchObject({ traces: [{}], status: 'PARTIAL' })
  expect(found.message).toContain('1 traces have more than 50000 spans or 64 MiB')
})

test('compare() may spend on each span what a span may cost', async () => {
  using writer = await TestWriter.open()
  writeCostlySpans(writer)
  const query = readTraceQl('{} | compare({ span.note =~ "[0-9]+(?:.?){200}a*b" })')
  const range = {
    fromNs: START_NS - 1n,
    toNs: START_NS + 1_000_000_000n,
    stepNs: 1_000_000_001n,
    isInstant: true,
  }
  const found = answer(writer.queries(), { kind: 'metrics', query, range, series: 1_000, exemplars: 0 })
  if (found.kind !== 'found') throw new Error(found.kind)
  expect(JSON.parse([...found.pieces].join(''))).not.toHaveProperty('status')
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Of buffers that are still referred to: what is not is given back only after a collection. */
async function heldBytes(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    collectGarbage()
    await immediate()
  }
  return process.memoryUsage().arrayBuffers
}

test.each(['jaeger', 'jaegerV3', 'jaegerSummaries'] as const)(
  'a search for %s holds no spans of what it has found',
  async (shape) => {
    using writer = await TestWriter.open()
    const note = 'a'.repeat(2 ** 20)
    for (let trace = 1; trace <= 48; trace++) writer.spans('web', [{ trace, id: 1, attributes: { note } }])
    writer.pass(1_000_000)
    const found = answer(writer.queries(), {
      kind: 'searchTraces',
      shape,
      search: { pipeline: readTraceQl('{}').pipeline, limit: 100, spansPerTrace: 0 },
    })
    if (found.kind !== 'found') throw new Error(found.kind)
    const before = await heldBytes()
    const pieces = found.pieces[Symbol.iterator]()
    while (pieces.next().value === '');
    expect((await heldBytes()) - before).toBeLessThan(2 ** 24)
    expect(pieces.next().done).toBe(false)
  },
)
