import { expect, test } from '@jest/globals'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { liveCpids, pruneAll } from './stored.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const POISONED = 7
const ALL = 20

type Poison = (writer: TestWriter) => void

/** Of what it merged into, the row is lost. */
const cannotBeRead: Poison = (writer) => {
  writer.db.prepare('DELETE FROM cpids WHERE text = ?').run(cpid(100 + POISONED))
}

/** Its spans can be removed, and what comes after them cannot. */
const cannotBeRemoved: Poison = (writer) => {
  const id = writer.db.prepare<[string], number>('SELECT id FROM cpids WHERE text = ?').pluck()
  writer.db
    .exec(`CREATE TRIGGER poison BEFORE DELETE ON cpid_origins WHEN old.cpid = ${id.get(cpid(POISONED))}
    BEGIN SELECT RAISE(ABORT, 'the row is broken'); END`)
}

/** Twenty changes that one other each followed from, settled and old, one of them poisoned; CPIDs up to 20 are their roots. */
async function poisoned(
  poison: Poison,
  retention: { maxAgeMs?: number; maxCpids?: number; maxBytes?: number },
) {
  const writer = await TestWriter.open({ retention })
  for (let at = 1; at <= ALL; at++) {
    writer.mergelogs('controller', [
      { new: cpid(at), time: at },
      { new: cpid(100 + at), sources: [cpid(at), cpid(200 + at)], time: at },
      { new: cpid(200 + at), time: at },
    ])
    writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
  }
  writer.pass(300_001)
  writer.clock.advance(2 * DAY)
  poison(writer)
  return writer.reopened()
}

const asideRows = (writer: TestWriter): unknown[] =>
  writer.db.prepare('SELECT stage, kind, cpid, reason FROM audit_set_aside').all()

test.each([
  ['cannot be read', 'age', cannotBeRead, { maxAgeMs: DAY }],
  ['cannot be read', 'count', cannotBeRead, { maxCpids: 1 }],
  ['cannot be read', 'bytes', cannotBeRead, { maxBytes: 1 }],
  ['cannot be removed', 'age', cannotBeRemoved, { maxAgeMs: DAY }],
  ['cannot be removed', 'count', cannotBeRemoved, { maxCpids: 1 }],
  ['cannot be removed', 'bytes', cannotBeRemoved, { maxBytes: 1 }],
])('a CPID that %s stays alone when all others go by their %s', async (_, __, poison, retention) => {
  using writer = await poisoned(poison, retention)
  writer.writer.prune(1_000, { isCalendarRight: true })
  pruneAll(writer)
  const left = liveCpids(writer)
  expect(left).toContain(POISONED)
  expect(left.filter((at) => at % 100 !== POISONED)).toEqual([])
  expect(writer.rows('spans')).toBe(1)
  expect(asideRows(writer)).toContainEqual({
    stage: 'pruning',
    kind: 'cpid',
    cpid: cpid(POISONED),
    reason: expect.stringMatching(/no CPID has the number|the row is broken/),
  })
})

test('a CPID that cannot be pruned is reported once, tried again after an hour, and pruned when it can be', async () => {
  using writer = await poisoned(cannotBeRemoved, { maxAgeMs: DAY })
  const pruned = (): unknown[] => {
    writer.writer.prune(1_000, { isCalendarRight: true })
    pruneAll(writer)
    return writer.writer.takeSetAside().map(({ stage, cpid: of }) => [stage, of])
  }
  expect(pruned()).toEqual([['pruning', cpid(POISONED)]])
  expect(pruned()).toEqual([])
  writer.clock.advance(HOUR)
  expect(pruned()).toEqual([['pruning', cpid(POISONED)]])
  writer.db.exec('DROP TRIGGER poison')
  writer.clock.advance(HOUR)
  expect(pruned()).toEqual([])
  expect(liveCpids(writer)).toEqual([])
  expect(writer.rows('spans')).toBe(0)
})
