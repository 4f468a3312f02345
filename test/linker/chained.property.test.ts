import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid, type MergelogSketch, type SpanSketch } from '../support/otlp-requests.ts'
import { sentRequests } from '../support/sent-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { WorkCounter } from '../support/work-counter.ts'

const CHANGES = 4
const SETTLED_MS = 301_000

const mergelogs = fc
  .array(fc.uniqueArray(fc.nat(CHANGES - 2), { maxLength: 2 }), { minLength: CHANGES, maxLength: CHANGES })
  .map((drawn) =>
    drawn.map((sources, at): MergelogSketch => {
      return { new: cpid(at + 1), sources: sources.filter((one) => one < at).map((one) => cpid(one + 1)) }
    }),
  )
const spans = fc
  .array(fc.record({ trace: fc.integer({ min: 1, max: 2 }), of: fc.nat(CHANGES - 1) }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((drawn) =>
    drawn.map(({ trace, of }, at): SpanSketch => ({
      trace,
      id: at + 1,
      cpid: cpid(of + 1),
      start: at,
      end: at + 5,
    })),
  )

const cascadesOf = ({ db }: TestWriter): unknown[] =>
  db
    .prepare(
      'SELECT root, episode, spans, services, start, last_activity FROM audit_cascades ORDER BY root, episode',
    )
    .all()

function take(writer: TestWriter, requests: readonly Buffer[]): void {
  for (const request of requests) writer.ingest('traces', request)
  writer.link()
}

test('what is sent to itself, as where a Collector sends both ways, comes to an end', async () => {
  await fc.assert(
    fc.asyncProperty(
      mergelogs,
      spans,
      fc.constantFrom('cascade', 'links', 'passthrough'),
      async (told, drawn, mode) => {
        using writer = await TestWriter.open({ linking: { mode } })
        writer.mergelogs('merger', told)
        writer.spans('controller', drawn)
        writer.link()
        const rows: number[] = []
        for (let round = 0; round < 5; round++) {
          // A span comes back long before its cascade settles.
          for (let times = 0; times < 3; times++) take(writer, sentRequests(writer.db, 10))
          writer.pass(SETTLED_MS)
          rows.push(writer.rows('spans') + writer.rows('traces'))
        }
        expect(rows[4]).toBe(rows[2])
      },
    ),
    { numRuns: 8 },
  )
})

test('a Causeway behind another has the same cascades, and counts none of the spans that the other adds', async () => {
  using first = await TestWriter.open()
  using second = await TestWriter.open()
  const told = [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)] }]
  for (const writer of [first, second]) writer.mergelogs('merger', told)
  first.spans(
    'controller',
    [1, 2].map((of) => ({ trace: of, id: of, cpid: cpid(of), start: of, end: of + 5 })),
  )
  first.pass(SETTLED_MS)
  take(second, sentRequests(first.db, 10))
  second.pass(SETTLED_MS)
  take(second, sentRequests(first.db, 10))
  second.pass(SETTLED_MS)
  expect(cascadesOf(second)).toEqual(cascadesOf(first))
})

/** What it costs to take what another Causeway added to a change that has come to so many episodes. */
async function costAfter(episodes: number): Promise<number> {
  using writer = await TestWriter.open()
  writer.mergelogs('merger', [{ new: cpid(1) }])
  for (let episode = 0; episode < episodes; episode++) {
    writer.spans('controller', [{ trace: 1, id: episode + 1, cpid: cpid(1), start: episode }])
    writer.pass(SETTLED_MS)
  }
  using counter = new WorkCounter()
  const attributes = { 'cpid.synthetic': true }
  return counter.blocksOf(() => {
    writer.spans(
      'causeway',
      Array.from({ length: 20 }, (_, at) => ({ trace: 2, id: 1_000 + at, cpid: cpid(1), attributes })),
    )
    writer.link()
  })
}

test('what another Causeway added costs the same however many traces its change has', async () => {
  expect(await costAfter(120)).toBeLessThan(1.5 * (await costAfter(4)))
})
