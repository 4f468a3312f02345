import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { IngestOutcome } from '../../src/model/otlp-requests.ts'
import type { PendingRequest } from '../../src/store/ingest-transactions.ts'
import { mergeGraphOf } from '../process/support/merge-graph-of.ts'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

/** A request of many spans, and one of a chain of mergelogs; larger than what is recorded between two looks at the time. */
function requestsOf(sender: number): PendingRequest[] {
  const spans = Array.from({ length: 250 }, (_, at) => ({
    trace: sender * 1_000 + (at % 40),
    id: sender * 1_000 + at + 1,
    cpid: cpid(sender * 1_000 + (at % 70) + 1),
    start: at,
    end: at + 1,
  }))
  const chain = Array.from({ length: 130 }, (_, at) => ({
    new: cpid(sender * 1_000 + at + 2),
    sources: [cpid(sender * 1_000 + at + 1)],
    time: at,
  }))
  return [
    { signal: 'traces', bytes: spansRequest(`spans ${sender}`, spans) },
    {
      signal: 'logs',
      bytes: mergelogsRequest(`merges ${sender}`, [{ new: cpid(sender * 1_000 + 1) }, ...chain]),
    },
  ]
}

const ALL = [1, 2, 3].flatMap(requestsOf)

/** Which of the controllers' spans went where, in whatever order. */
function sentIn(writer: TestWriter): string[] {
  return writer
    .sent()
    .filter(({ name }) => name.startsWith('span '))
    .map(({ traceId, spanId, parentSpanId, name }) => [traceId, spanId, parentSpanId, name].join(' '))
    .sort()
}

function seenIn(writer: TestWriter): unknown {
  const count = (table: string): unknown => writer.rows(table)
  return {
    graph: mergeGraphOf(writer.db),
    sent: sentIn(writer),
    rows: ['spans', 'mergelogs', 'requests', 'origin_traces', 'scopes'].map(count),
  }
}

/** Stores all of them, each commit having time for so many looks at the clock, with linking and pruning between commits. */
function storeInParts(writer: TestWriter, looks: readonly number[]): IngestOutcome[] {
  const outcomes: IngestOutcome[] = []
  for (let turn = 0; outcomes.length < ALL.length; turn++) {
    let left = looks[turn % looks.length] ?? 1
    const { outcomes: done, costsMs } = writer.writer.ingest(ALL.slice(outcomes.length), () => left-- > 0)
    expect(costsMs.length).toBeGreaterThanOrEqual(done.length)
    outcomes.push(...done)
    writer.writer.link(50)
    writer.writer.prune(100)
  }
  return outcomes
}

test('what is stored in parts, with linking and pruning between them, is what would have been stored at once', async () => {
  using whole = await TestWriter.open()
  const { outcomes } = whole.writer.ingest(ALL)
  whole.pass(20_000)
  const expected = seenIn(whole)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(4), { minLength: 1, maxLength: 8 }), async (looks) => {
      using parts = await TestWriter.open()
      expect(storeInParts(parts, looks)).toEqual(outcomes)
      parts.pass(20_000)
      expect(seenIn(parts)).toEqual(expected)
      // The repetition of each is known.
      const again = parts.writer.ingest(ALL.map((request) => ({ ...request })))
      expect(again.outcomes.map((outcome) => ({ ...outcome, stored: 0 }))).toEqual(
        outcomes.map((outcome) => ({ ...outcome, stored: 0 })),
      )
      expect(again.counts.repeatedRequests).toBe(ALL.length)
    }),
    { numRuns: 8 },
  )
})

test('a request that stops half way and is sent again to another Causeway is stored once', async () => {
  using whole = await TestWriter.open()
  whole.writer.ingest(ALL)
  whole.pass(20_000)
  using first = await TestWriter.open()
  let left = 2
  expect(first.writer.ingest(ALL, () => left-- > 0).outcomes).toEqual([])
  first.link()
  const second = first.reopened()
  second.writer.ingest(ALL.map((request) => ({ ...request })))
  second.pass(20_000)
  expect(sentIn(second)).toEqual(sentIn(whole))
  expect(mergeGraphOf(second.db)).toEqual(mergeGraphOf(whole.db))
})

test('a request that comes again over another connection, and is stored between two parts of the first, has one answer', async () => {
  using writer = await TestWriter.open()
  const merges = Array.from({ length: 130 }, (_, at) => ({
    new: cpid(at + 1),
    sources: [cpid(((at + 1) % 130) + 1)],
  }))
  const request: PendingRequest = { signal: 'logs', bytes: mergelogsRequest('racer', merges) }
  const again = { ...request }
  expect(writer.writer.ingest([request], () => false).outcomes).toEqual([])
  const { outcomes } = writer.writer.ingest([again])
  expect(outcomes).toMatchObject([{ kind: 'accepted', rejected: 1 }])
  const { stored, ...answer } = outcomes[0] as { stored: number }
  expect(stored).toBe(129)
  expect(writer.writer.ingest([request]).outcomes).toMatchObject([answer])
  expect([writer.rows('requests'), writer.rows('mergelogs')]).toEqual([1, 129])
})

test('what is pruned between two parts of a request is there again with the next one', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 60_000 } })
  const spans = Array.from({ length: 250 }, (_, at) => ({ trace: 1, id: at + 1, cpid: cpid(1) }))
  const request: PendingRequest = { signal: 'traces', bytes: spansRequest('sender', spans) }
  const count = (of: string): unknown => writer.rows(of)
  expect(writer.writer.ingest([request], () => false).outcomes).toEqual([])
  const first = Number(count('spans'))
  expect(first).toBeGreaterThan(0)
  writer.pass(20_000)
  writer.pass(1_000_000)
  while (writer.writer.prune(100, { isCalendarRight: true }).more);
  expect([count('spans'), count('cpids WHERE state = 1')]).toEqual([0, 1])
  expect(writer.writer.ingest([request]).outcomes).toMatchObject([{ kind: 'accepted', stored: 250 }])
  expect(count('spans')).toBe(250 - first)
  const kept = 'spans s JOIN scopes p ON p.id = s.scope JOIN cpids c ON c.id = s.cpid WHERE c.state = 0'
  expect(count(kept)).toBe(250 - first)
})
