import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { play, steps, type Step } from '../support/drawn-history.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const SETTINGS = { linking: { maxFanout: 2, maxTraceSpans: 12 } } as const

interface Decided {
  [column: string]: unknown
}

/** What was decided, to the byte. After each step all is linked; after some of them, or some turns of it, Causeway starts anew. */
async function decisions(
  drawn: readonly Step[],
  restartsAfter: readonly boolean[],
  inTurns = false,
): Promise<Decided[]> {
  const first = await TestWriter.open(SETTINGS)
  let writer = first
  let step = 0
  const mayRestart = (): void => {
    if (restartsAfter[step++ % restartsAfter.length] === true) writer = writer.reopened()
  }
  play(
    () => writer,
    drawn,
    () => {
      if (inTurns) while (writer.writer.link(1, () => false) > 0) mayRestart()
      else writer.link()
      mayRestart()
    },
  )
  writer.pass(301_000)
  const decided = writer.db.prepare<[], Decided>('SELECT * FROM outbox ORDER BY decision').all()
  first[Symbol.dispose]()
  return decided
}

test('after whichever steps Causeway is started again, it decides the same: the same spans in the same places', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
      async (drawn, restartsAfter) => {
        expect(await decisions(drawn, restartsAfter)).toEqual(await decisions(drawn, [false]))
      },
    ),
    { numRuns: 50 },
  )
})

test('killed between whichever turns, Causeway decides the same', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.array(fc.boolean(), { minLength: 2, maxLength: 7 }), async (drawn, kills) => {
      expect(await decisions(drawn, kills, true)).toEqual(await decisions(drawn, [false], true))
    }),
    { numRuns: 20 },
  )
})

test.each([false, true])(
  'a link to a parent that a child brought along is re-pointed (restart: %s)',
  async (restarts) => {
    const first = await TestWriter.open()
    let writer = first
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('controller', [{ trace: 1, id: 11, parent: 10, cpid: cpid(1) }])
    writer.link()
    writer.spans('controller', [{ trace: 1, id: 10 }])
    writer.link()
    if (restarts) writer = writer.reopened()
    writer.mergelogs('kubectl', [{ new: cpid(2) }])
    writer.spans('other', [{ trace: 2, id: 20, cpid: cpid(2), links: [{ trace: 1, id: 10 }] }])
    writer.link()
    const linking = writer.sent().find((span) => span.spanId === hexSpan(20))
    expect(linking?.links[0]).toMatchObject({ traceId: traceOf(cpid(1)), spanId: hexSpan(10) })
    first[Symbol.dispose]()
  },
)
