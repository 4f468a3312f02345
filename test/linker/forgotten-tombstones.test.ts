import { expect, test } from '@jest/globals'
import { pruneAll } from '../graph/pruning/stored.ts'
import { checkForgotten } from '../support/forgotten-tombstones.ts'
import { cpid } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const SETTLED_MS = 300_001

test.each(['cascade', 'links', 'passthrough'] as const)(
  '%s: however few tombstones are kept, no span goes into a trace again with other content',
  async (mode) => {
    await checkForgotten(mode, 12)
  },
)

/** CPID 1 was changed, pruned and forgotten. */
async function forgotten(): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 1 }])
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  for (const at of [2, 3]) {
    writer.pass(SETTLED_MS)
    writer.mergelogs('kubectl', [{ new: cpid(at), time: SETTLED_MS * (at - 1) - 1 }])
  }
  writer.pass(SETTLED_MS)
  pruneAll(writer)
  expect(writer.writer.gauges()).toMatchObject({ cpids: 1, tombstones: 1 })
  return writer
}

test('what comes late of a change that is forgotten goes into an episode, which links to its main trace', async () => {
  using writer = await forgotten()
  const before = writer.writer.progress.lastDecision
  writer.spans('controller', [{ trace: 9, id: 9, cpid: cpid(1), start: 4 * SETTLED_MS }])
  writer.pass(11_000)
  const sent = writer.sent(before)
  expect(sent.map(({ name }) => name).sort()).toEqual(['episode', 'span 9'])
  for (const span of sent) expect(span.traceId).not.toBe(traceOf(cpid(1)))
  expect(sent.find(({ name }) => name === 'episode')?.links).toEqual([
    expect.objectContaining({ traceId: traceOf(cpid(1)) }),
  ])
})

test('a change that was made since then has its own trace as ever', async () => {
  using writer = await forgotten()
  writer.mergelogs('kubectl', [{ new: cpid(4), time: 3 * SETTLED_MS }])
  writer.spans('controller', [{ trace: 9, id: 9, cpid: cpid(4), start: 3 * SETTLED_MS }])
  writer.link()
  expect(writer.sent().findLast(({ name }) => name === 'span 9')?.traceId).toBe(traceOf(cpid(4)))
})
