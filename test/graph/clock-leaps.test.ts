import { expect, test } from '@jest/globals'
import { cpid, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const YEAR = 365 * 24 * HOUR
const MANY = 1_000

const retention = { maxAgeMs: 168 * HOUR }

const liveIn = (writer: TestWriter): number =>
  Number(writer.db.prepare("SELECT count(*) FROM audit_cpids WHERE state = 'live'").pluck().get())

const leap = ({ clock }: TestWriter, ms: number): void => clock.setWall(clock.wallMs() + ms)

/** A settled cascade and an unattributed span, an hour old; pruning has run since. */
async function filled(path?: string): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention }, path)
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  writer.spans('kubelet', [{ trace: 2, id: 21 }])
  writer.pass(MINUTE)
  writer.writer.prune(MANY)
  writer.pass(HOUR)
  writer.writer.prune(MANY)
  return writer
}

test('a clock that leaps years ahead removes nothing when it is set right within the hour', async () => {
  using writer = await filled()
  leap(writer, YEAR)
  expect(writer.writer.prune(MANY)).toMatchObject({ cpids: 0, spans: 0, leapMs: YEAR })
  writer.pass(59 * MINUTE)
  expect(writer.writer.prune(MANY)).toEqual(expect.not.objectContaining({ leapMs: expect.anything() }))
  leap(writer, -YEAR)
  expect(writer.writer.prune(MANY)).toMatchObject({ cpids: 0, spans: 0, leapMs: -YEAR })
  writer.pass(2 * HOUR)
  expect(writer.writer.prune(MANY)).toMatchObject({ cpids: 0, spans: 0 })
  expect(liveIn(writer)).toBe(1)
  expect(writer.rows('spans')).toBe(2)
})

test.each([9, -9])(
  'fourteen leaps of %i minutes within 25 s, each too small to tell of, remove nothing',
  async (minutes) => {
    using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR } })
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
    writer.pass(6 * MINUTE)
    writer.writer.prune(MANY)
    for (let leaps = 0; leaps < 14; leaps++) {
      leap(writer, minutes * MINUTE)
      writer.pass(1_800)
      expect(writer.writer.prune(MANY)).toMatchObject({ cpids: 0, spans: 0 })
    }
    expect(liveIn(writer)).toBe(1)
  },
)

test('a time that lasts an hour is believed', async () => {
  using writer = await filled()
  leap(writer, YEAR)
  writer.writer.prune(MANY)
  writer.pass(HOUR)
  expect(writer.writer.prune(MANY)).toMatchObject({ cpids: 1, spans: 2 })
})

test('a start with the clock years ahead, or back, waits as well; one after an hour of down time does not', async () => {
  for (const [ms, isUnsure] of [
    [YEAR, true],
    [-YEAR, true],
    [HOUR, false],
  ] as const) {
    using writer = await filled()
    leap(writer, ms)
    using next = writer.reopened()
    expect(next.writer.prune(MANY)).toMatchObject({ cpids: 0, spans: 0, ...(isUnsure && { leapMs: ms }) })
    next.clock.advance(HOUR)
    expect(next.writer.prune(MANY).cpids).toBe(ms === YEAR ? 1 : 0)
  }
})

test('a request repeated across a leap is stored once', async () => {
  using writer = await filled()
  const request = spansRequest('kubectl', [{ trace: 5, id: 51, cpid: cpid(1) }])
  writer.ingest('traces', request)
  leap(writer, YEAR)
  writer.writer.prune(MANY)
  expect(writer.ingest('traces', request)).toMatchObject({ kind: 'accepted', stored: 0 })
  leap(writer, -YEAR)
  writer.writer.prune(MANY)
  expect(writer.ingest('traces', request)).toMatchObject({ kind: 'accepted', stored: 0 })
})

test('requests that came while the clock was ahead are forgotten like others', async () => {
  using writer = await filled()
  leap(writer, YEAR)
  writer.ingest('traces', spansRequest('kubectl', [{ trace: 6, id: 61 }]))
  leap(writer, -YEAR)
  writer.writer.prune(MANY)
  writer.pass(2 * HOUR)
  writer.ingest('traces', spansRequest('kubectl', [{ trace: 7, id: 71 }]))
  writer.writer.prune(MANY)
  expect(writer.rows('requests')).toBe(1)
})

test.each([-YEAR, YEAR])(
  'a leap of %i ms lets no wait last longer or shorter, and settles nothing',
  async (ms) => {
    using writer = await TestWriter.open()
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(2), name: 'waits' }])
    const names = (): string[] => writer.sent().map(({ name }) => name)
    writer.pass(5_000)
    leap(writer, ms)
    writer.pass(4_999)
    expect(names()).not.toContain('waits')
    writer.pass(2)
    expect(names()).toContain('waits')
    writer.pass(289_000)
    expect(names()).not.toContain('cascade')
    writer.pass(1_100)
    expect(names()).toContain('cascade')
  },
)
