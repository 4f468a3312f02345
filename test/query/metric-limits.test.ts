import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { answer } from '../../src/query/answer.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { TestWriter } from '../support/test-writer.ts'

const START_NS = 1_767_225_600_000_000_000n
const SECOND = 1_000_000_000n

interface Answered {
  series: { labels?: object[]; samples?: object[] }[]
  status?: string
  message?: string
}

function piecesOf(writer: TestWriter, q: string, series: number, intervals = 1n): string[] {
  const range = {
    fromNs: START_NS - 1n,
    toNs: START_NS - 1n + intervals * SECOND,
    stepNs: SECOND,
    isInstant: false,
  }
  const query = readTraceQl(q)
  const found = answer(writer.queries(), { kind: 'metrics', query, range, series, exemplars: 0 })
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
