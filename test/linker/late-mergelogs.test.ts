import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const CPIDS = 12
const SPANS = 100
/** What one turn sends: those with the mergelog itself, up to one CPID more, and change spans. */
const MOST_IN_A_TURN = 500 + SPANS + 10
const onlyOne = (): boolean => false

/** Spans of several CPIDs, sent in the trace of a CPID whose mergelog was missing and has just come. */
async function lateAbove(cpids = CPIDS, spansOfEach = SPANS): Promise<TestWriter> {
  const writer = await TestWriter.open()
  const below = Array.from({ length: cpids }, (_, at) => cpid(100 + at))
  writer.mergelogs(
    'a',
    below.map((one) => ({ new: one, sources: [cpid(1)] })),
  )
  for (const [at, one] of below.entries()) {
    const spans = Array.from({ length: spansOfEach }, (_, id) => ({
      ...{ trace: at + 1, id: id + 1, cpid: one, start: 0 },
      // The last is the parent of all.
      ...(id + 1 < spansOfEach && { parent: spansOfEach }),
    }))
    writer.spans('a', spans)
  }
  writer.pass(11_000)
  writer.mergelogs('a', [{ new: cpid(2) }, { new: cpid(1), sources: [cpid(2)] }])
  return writer
}

function movedSpans(writer: TestWriter, after: number): number {
  const moved = writer.sent(after).filter((span) => span.traceId === cpid(2).replaceAll('-', ''))
  return moved.filter(({ name }) => !['change', 'merge'].includes(name)).length
}

test.each([
  [CPIDS, SPANS],
  [1, CPIDS * SPANS],
])(
  'what a late mergelog sends again of %s CPIDs it sends in turns, and all of it',
  async (cpids, spansOfEach) => {
    using writer = await lateAbove(cpids, spansOfEach)
    const decidedBefore = writer.rows('outbox')
    for (let decided = decidedBefore; writer.writer.link(1_000, onlyOne) > 0;) {
      expect(writer.rows('outbox') - decided).toBeLessThanOrEqual(MOST_IN_A_TURN)
      decided = writer.rows('outbox')
    }
    expect(movedSpans(writer, decidedBefore)).toBe(cpids * spansOfEach)
  },
)

test('a CPID whose spans cannot be sent again is set aside, and those of all others are sent', async () => {
  using writer = await lateAbove()
  const decidedBefore = writer.rows('outbox')
  const last = `(SELECT max(id) FROM spans)`
  writer.db.exec(`CREATE TEMP TRIGGER poison BEFORE INSERT ON main.outbox WHEN NEW.span = ${last}
    BEGIN SELECT RAISE(ABORT, 'poison'); END`)
  writer.link()
  expect(movedSpans(writer, decidedBefore)).toBe((CPIDS - 1) * SPANS)
  expect(writer.writer.linking.takeSetAside()).toMatchObject([
    {
      stage: 'linking',
      kind: 'change',
      cpid: cpid(100 + CPIDS - 1),
      reason: expect.stringContaining('poison'),
    },
  ])
})
