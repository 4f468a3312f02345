import { expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { expectSoundScopes, tablesNamingScopes } from '../support/sound-scopes.ts'
import { TestWriter } from '../support/test-writer.ts'

const DAY = 24 * 3_600_000
const MIB = 1024 * 1024

const scopeIds = ({ db }: TestWriter): number[] =>
  db.prepare<[], number>('SELECT id FROM scopes ORDER BY id').pluck().all()

function pruneAll(writer: TestWriter): void {
  while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
}

test('every table that names scopes counts down when its rows go, whoever removes them', async () => {
  using writer = await TestWriter.open()
  const triggers = writer.db
    .prepare<[], string>(
      "SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%AFTER DELETE%' AND sql LIKE '%scope%' ORDER BY 1",
    )
    .pluck()
    .all()
  expect(triggers).toEqual(tablesNamingScopes(writer.db))
})

test('a thousand pods that came and went leave nothing of what they said about themselves', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: DAY } })
  for (let at = 1; at <= 1_000; at++) {
    writer.mergelogs(`pod ${at}`, [{ new: cpid(at), time: at }])
    writer.spans(`pod ${at}`, [{ trace: at, id: at, cpid: cpid(at) }])
    if (at % 10 === 0) writer.logs(`pod ${at}`, [{ body: 'without a CPID' }])
    if (at % 50 === 0) writer.pass(1_000)
  }
  writer.pass(400_000)
  pruneAll(writer)
  // Its own scopes of each sender, and those of Causeway's spans.
  expect(writer.rows('scopes')).toBe(2_000)
  expect(writer.rows('resources')).toBe(1_000)
  writer.clock.advance(2 * DAY)
  pruneAll(writer)
  // What the last CPIDs named goes with the next turn.
  pruneAll(writer)
  for (const table of ['spans', 'logs', 'scopes', 'resources'])
    expect([table, writer.rows(table)]).toEqual([table, 0])
})

test('a sender whose scope is gone comes again, and no number is given twice while anyone may remember it', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1_000 } })
  writer.spans('stays', [{ trace: 1, id: 1 }])
  writer.logs('comes again', [{ body: 'line' }])
  const [first = 0] = scopeIds(writer).slice(1)
  writer.db.exec('DELETE FROM logs')
  pruneAll(writer)
  expect(scopeIds(writer)).not.toContain(first)
  // What was remembered is forgotten when a transaction is rolled back.
  writer.rollBack()
  writer.spans('comes again', [{ trace: 2, id: 2 }])
  expectSoundScopes(writer.db)
  expect(scopeIds(writer)).not.toContain(first)
})

test('a sender whose scope is gone comes again at once', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1_000 } })
  writer.logs('comes again', [{ body: 'line' }])
  writer.db.exec('DELETE FROM logs')
  pruneAll(writer)
  expect(writer.rows('resources')).toBe(0)
  writer.spans('comes again', [{ trace: 2, id: 2 }])
  expectSoundScopes(writer.db)
  expect(writer.rows('resources')).toBe(1)
})

test('refused mergelogs that come in large resources crowd nothing out', async () => {
  using writer = await TestWriter.open({ retention: { maxBytes: 2 * MIB } })
  for (let at = 1; at <= 20; at++) {
    writer.mergelogs('controller', [{ new: cpid(at) }])
    writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
  }
  writer.pass(400_000)
  const refused = cpid(99)
  for (let at = 1; at <= 600; at++) {
    const name = `faulty ${at} ${'x'.repeat(20_000)}`
    writer.ingest('logs', mergelogsRequest(name, [{ new: refused, sources: [refused] }]))
  }
  expect(writer.writer.gauges().usedBytes).toBeGreaterThan(10 * MIB)
  pruneAll(writer)
  expect(writer.rows('spans')).toBe(20)
  expect(writer.rows('rejected_mergelogs')).toBe(50)
  expect(writer.writer.gauges().usedBytes).toBeLessThan(2 * MIB)
  const [{ service }] = writer.db.prepare('SELECT service FROM audit_rejected_mergelogs').all() as [
    { service: string },
  ]
  expect(service).toMatch(/^faulty \d+ x+$/)
})
