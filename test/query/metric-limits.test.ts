import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { answer } from '../../src/query/answer.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { TestWriter } from '../support/test-writer.ts'

const START_NS = 1_767_225_600_000_000_000n
const SECOND = 1_000_000_000n

interface Answered {
  series: { labels?: object[]; samples?: object[]; exemplars?: { timestampMs: string }[] }[]
  status?: string
  message?: string
}

function piecesOf(
  writer: TestWriter,
  q: string,
  series: number,
  intervals = 1n,
  exemplars = 0,
  nowMs?: () => number,
): string[] {
  const range = {
    fromNs: START_NS - 1n,
    toNs: START_NS - 1n + intervals * SECOND,
    stepNs: SECOND,
    isInstant: false,
  }
  const query = readTraceQl(q)
  const found = answer(writer.queries(), { kind: 'metrics', query, range, series, exemplars }, nowMs)
  if (found.kind !== 'found') throw new Error(found.kind)
  return [...found.pieces]
}

const ask = (...asked: Parameters<typeof piecesOf>): Answered =>
  JSON.parse(piecesOf(...asked).join('')) as Answered

const spans = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    text: fc.constantFrom('x', 'y', 'z'),
    ms: fc.integer({ min: 1, max: 1_000 }),
  }),
  { minLength: 1, maxLength: 20 },
)
const quantiles = fc.uniqueArray(fc.constantFrom(0.1, 0.25, 0.5, 0.75, 0.9), { minLength: 1 })
const metrics = fc.oneof(
  quantiles.map((all) => `quantile_over_time(duration, ${all.join(', ')})`),
  fc.constantFrom('rate()', 'histogram_over_time(duration)', 'max_over_time(duration)'),
)
const asked = fc.oneof(
  fc
    .tuple(metrics, fc.constantFrom('', ' by(name)', ' by(name, span.text)'))
    .map(([metric, by]) => `{} | ${metric}${by}`),
  fc.constantFrom('a', 'b').map((name) => `{} | compare({ name = "${name}" })`),
)

test('an answer has no more series than it may have, and says when it lacks some', async () => {
  await fc.assert(
    fc.asyncProperty(spans, asked, fc.integer({ min: 1, max: 12 }), async (all, q, most) => {
      using writer = await TestWriter.open()
      writer.spans(
        'web',
        all.map(({ name, text, ms }, at) => ({
          trace: at + 1,
          id: 1,
          name,
          end: ms,
          attributes: { text },
        })),
      )
      writer.pass(1_000_000)
      const whole = ask(writer, q, 1_000)
      expect(whole.status).toBeUndefined()
      const cut = ask(writer, q, most)
      expect(cut.series.length).toBeLessThanOrEqual(most)
      expect(cut.status).toBe(cut.series.length < whole.series.length ? 'PARTIAL' : undefined)
    }),
    { numRuns: 60 },
  )
})

test('exemplars come from all of the time, as many as may be, one of each trace', async () => {
  const seconds = 20
  const traces = fc.array(fc.integer({ min: 0, max: seconds - 1 }), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(traces, fc.integer({ min: 1, max: 12 }), async (all, most) => {
      using writer = await TestWriter.open()
      writer.spans(
        'web',
        all.flatMap((second, at) =>
          [1, 2].map((id) => ({ trace: at + 1, id, start: second * 1_000, end: second * 1_000 + 1 })),
        ),
      )
      writer.pass(1_000_000)
      const { series } = ask(writer, '{} | rate()', 1_000, BigInt(seconds), most)
      const shown = (series[0]?.exemplars ?? []).map(
        ({ timestampMs }) => (Number(timestampMs) - Number(START_NS / 1_000_000n)) / 1_000,
      )
      expect(shown).toHaveLength(Math.min(most, all.length))
      expect(shown).toEqual(shown.toSorted((a, b) => a - b))
      const parts = Math.ceil(most / 2)
      const inPart = (of: number[], part: number): number =>
        of.filter((second) => Math.floor((second * parts) / seconds) === part).length
      const wanted = Array.from({ length: parts }, (_, part) => Math.min(2, inPart(all, part)))
      if (wanted.reduce((sum, count) => sum + count, 0) > most) return
      for (const [part, count] of wanted.entries()) expect(inPart(shown, part)).toBeGreaterThanOrEqual(count)
    }),
    { numRuns: 60 },
  )
})

test('a filter on the results keeps no exemplar without a value, as in Tempo', async () => {
  using writer = await TestWriter.open()
  writer.spans('web', [{ trace: 1, id: 1 }])
  writer.pass(1_000_000)
  const shown = (q: string): number => ask(writer, q, 1_000, 1n, 10).series[0]?.exemplars?.length ?? 0
  expect(['', ' != 0', ' > 0'].map((filter) => shown(`{} | count_over_time()${filter}`))).toEqual([1, 0, 0])
  expect(shown('{} | max_over_time(duration) != 0')).toBe(1)
})

const values = fc.constantFrom<unknown>(
  undefined,
  'nil',
  'x',
  'a b',
  'a',
  'é',
  9,
  10,
  true,
  ['x'],
  ['x', 'y'],
  [1, 2],
)

test('no two series have the same labels, and they come in the order of Tempo', async () => {
  const drawn = fc.array(fc.record({ name: fc.constantFrom('a', 'a b', 'B'), value: values }), {
    minLength: 1,
  })
  await fc.assert(
    fc.asyncProperty(
      drawn,
      fc.constantFrom('span.value', 'name, span.value', '.value, name'),
      async (all, by) => {
        using writer = await TestWriter.open()
        writer.spans(
          'web',
          all.map(({ name, value }, at) => ({
            ...{ trace: at + 1, id: 1, name },
            attributes: value === undefined ? {} : { value },
          })),
        )
        writer.pass(1_000_000)
        const { series } = ask(writer, `{} | count_over_time() by (${by})`, 1_000)
        const labels = series.map((one) => JSON.stringify(one.labels))
        expect(labels).toEqual([...new Set(labels)])
        const counts = series.flatMap(({ samples = [] }) => samples as { value?: number }[])
        expect(counts.reduce((sum, { value = 0 }) => sum + value, 0)).toBe(all.length)
        const compared = ask(writer, '{} | compare({ true }, 100)', 1_000).series
        const pairs = compared.map((one) => JSON.stringify(one.labels))
        expect(pairs).toEqual([...new Set(pairs)])
        const lengths = series.map((one) => one.labels?.length ?? 0)
        expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
      },
    ),
    { numRuns: 60 },
  )
})

test('a quantile that is asked for twice is one series', async () => {
  using writer = await TestWriter.open()
  writer.spans('web', [{ trace: 1, id: 1 }])
  writer.pass(1_000_000)
  const { series } = ask(writer, '{} | quantile_over_time(duration, .9, .5, 0.90)', 1_000)
  expect(series.map(({ labels }) => JSON.stringify(labels?.[0]))).toEqual(
    [0.5, 0.9].map((doubleValue) => JSON.stringify({ key: 'p', value: { doubleValue } })),
  )
})

test('series come by the text of their values in protobuf, as in Tempo', async () => {
  using writer = await TestWriter.open()
  const all = ['b', 'a', 'a b', 'B', 'é', 9, 10, true]
  writer.spans(
    'web',
    all.map((value, at) => ({ trace: at + 1, id: 1, attributes: { value } })),
  )
  writer.pass(1_000_000)
  const { series } = ask(writer, '{} | count_over_time() by (span.value)', 1_000)
  const shown = series.flatMap(({ labels = [] }) =>
    (labels as { value: object }[]).flatMap((label) => Object.values(label.value) as unknown[]),
  )
  expect(shown).toEqual([true, '10', '9', 'B', 'é', 'a b', 'a', 'b'])
})

test('a comparison takes a span of which its selection cannot be asked for none of it', async () => {
  using writer = await TestWriter.open()
  writer.spans('web', [{ trace: 1, id: 1, name: 'a' }])
  writer.pass(1_000_000)
  const { series, status } = ask(writer, '{} | compare({ !span.flag })', 1_000)
  expect(status).toBeUndefined()
  expect(series.map(({ labels }) => JSON.stringify(labels?.[0]))).toContain(
    '{"key":"__meta_type","value":{"stringValue":"baseline"}}',
  )
})

test('a query for more quantiles than one may ask for is refused', () => {
  const query = (count: number): string =>
    `{} | quantile_over_time(duration, ${Array.from({ length: count }, (_, at) => `0.${at + 10}`).join(', ')})`
  expect(() => readTraceQl(query(10))).not.toThrow()
  expect(() => readTraceQl(query(11))).toThrow(
    'quantile_over_time() takes at most 10 quantiles, and got 11: leave some out',
  )
})

test('a comparison has no more values than may be held, whatever spans have', async () => {
  using writer = await TestWriter.open()
  const attributes = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a${at}`, 'x']))
  writer.spans('web', [{ trace: 1, id: 1, attributes }])
  writer.pass(1_000_000)
  const pieces = piecesOf(writer, '{} | compare({ false })', 1_000, 5_000n)
  const series = pieces.filter((piece) => piece.includes('"samples"')).length
  expect(series * 5_000).toBeLessThanOrEqual(2_000_000)
  expect(pieces.at(-1)).toContain('"status":"PARTIAL"')
})

test('stages after the metric take turns with other questions, and have no more time than a search', async () => {
  const stage = fc.oneof(
    fc
      .tuple(fc.constantFrom('topk', 'bottomk'), fc.integer({ min: 1, max: 4 }))
      .map(([k, most]) => `| ${k}(${most})`),
    fc.integer({ min: -1, max: 2 }).map((least) => `> ${least}`),
  )
  using writer = await TestWriter.open()
  const names = ['a', 'b', 'c', 'd', 'e']
  writer.spans(
    'web',
    names.map((name, at) => ({ trace: at + 1, id: 1, name, start: at * 1_000 })),
  )
  writer.pass(1_000_000)
  fc.assert(
    fc.property(fc.array(stage, { minLength: 1, maxLength: 6 }), (stages) => {
      const query = ['{} | rate() by (name)', ...stages].join(' ')
      const pieces = piecesOf(writer, query, 1_000, 50n)
      const before = piecesOf(writer, '{} | rate() by (name)', 1_000, 50n)
      const turnsOf = (all: string[]): number => all.filter((piece) => piece === '').length
      expect(turnsOf(pieces)).toBeGreaterThanOrEqual(turnsOf(before) + stages.length)
      // Each look at the clock finds half of the time gone that there is.
      let ms = 0
      const late = JSON.parse(
        piecesOf(writer, query, 1_000, 50n, 0, () => (ms += 15_001)).join(''),
      ) as Answered
      expect(late).toMatchObject({ series: [], status: 'PARTIAL' })
    }),
  )
})
