import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { openForWriting, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import type { StoreWriter } from '../../src/store/store-writer.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { sentSpans } from '../support/sent-spans.ts'
import { type TestSettings, TestWriter } from '../support/test-writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-set-aside-'))
let files = 0

afterAll(() => rmSync(folder, { recursive: true }))

/** A writer on a file, and another connection that breaks what it relies on. */
async function breakable(settings: TestSettings = {}) {
  const path = join(folder, `${++files}.db`)
  const writer = await TestWriter.open(settings, path)
  const other = openForWriting(path)
  return {
    writer,
    lose: (number: number) => other.prepare('DELETE FROM cpids WHERE text = ?').run(cpid(number)),
    spoil: (number: number) => other.prepare("UPDATE cpids SET roots = '[' WHERE text = ?").run(cpid(number)),
    [Symbol.dispose]: () => {
      other.close()
      writer[Symbol.dispose]()
    },
  }
}

const asideRows = (db: Sqlite): unknown[] =>
  db.prepare('SELECT stage, kind, item, cpid, exporter, reason FROM audit_set_aside').all()
const sentIds = (db: Sqlite): Set<string> => new Set(sentSpans(db).map(({ spanId }) => spanId))
const gone = expect.stringMatching(/^no CPID has the number \d+ \(at .*\.ts:\d+\)$/)

describe.each(['cascade', 'links', 'passthrough'] as const)('%s', (mode) => {
  test('a span that cannot be linked is set aside, and all others are linked', async () => {
    using broken = await breakable({ linking: { mode } })
    const { writer, lose } = broken
    for (let at = 1; at <= 20; at++) {
      writer.mergelogs('controller', [{ new: cpid(at) }])
      writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
    }
    lose(7)
    writer.link()
    expect(writer.writer.linkLag).toBe(0)
    const sent = sentIds(writer.db)
    for (let at = 1; at <= 20; at++) expect([at, sent.has(hexSpan(at))]).toEqual([at, at !== 7])
    const item = { cpid: null, exporter: null, reason: gone }
    expect(asideRows(writer.db)).toEqual([{ stage: 'linking', kind: 'span', item: 21, ...item }])
    expect(writer.writer.takeSetAside()).toHaveLength(1)
    expect(writer.writer.takeSetAside()).toEqual([])
  })
})

test('what waited and cannot leave is set aside, and all others leave', async () => {
  using broken = await breakable()
  const { writer, lose } = broken
  for (let at = 1; at <= 5; at++) writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
  writer.link()
  lose(2)
  writer.pass(11_000)
  expect([...sentIds(writer.db)]).toEqual(expect.arrayContaining([1, 3, 4, 5].map(hexSpan)))
  expect(asideRows(writer.db)).toMatchObject([{ stage: 'waiting', kind: 'span', item: 2, reason: gone }])
  expect(writer.writer.gauges()).toMatchObject({ waiting: 0, setAside: 1 })
})

test.each<[string, (writer: StoreWriter) => void]>([
  [
    'before the next arrival',
    (writer) => {
      while (writer.link(500) > 0);
    },
  ],
  [
    'with what is due',
    (writer) => {
      while (writer.reader.isAnythingDue()) writer.linking.expire(500)
    },
  ],
])('what was released and cannot leave is set aside %s, and all others leave', async (_, goOn) => {
  using broken = await breakable()
  const { writer, lose } = broken
  const version = 'v1/configmaps/default/web?uid=web&rv=9'
  for (let at = 1; at <= 5; at++) {
    writer.mergelogs('controller', [{ new: cpid(at) }])
    writer.spans('controller', [
      { trace: at, id: at, cpid: cpid(at), attributes: { 'cpid.observed': [version] } },
    ])
  }
  writer.link()
  writer.mergelogs('writer', [{ new: cpid(9) }])
  writer.spans('writer', [{ trace: 9, id: 9, cpid: cpid(9), attributes: { 'cpid.wrote': [version] } }])
  while (writer.rows('unfinished_steps') === 0) writer.writer.link(500, () => false)
  expect(sentIds(writer.db)).not.toContain(hexSpan(1))
  lose(3)
  goOn(writer.writer)
  expect([1, 2, 3, 4, 5].filter((at) => sentIds(writer.db).has(hexSpan(at)))).toEqual([1, 2, 4, 5])
  expect(asideRows(writer.db)).toMatchObject([{ stage: 'waiting', kind: 'span', reason: gone }])
  expect([writer.rows('unfinished_steps'), writer.rows('waiting')]).toEqual([0, 0])
})

test('a log record that waited and cannot leave is set aside, and all others leave', async () => {
  using broken = await breakable({ linking: { logs: true } })
  const { writer } = broken
  for (let at = 1; at <= 3; at++) writer.logs('controller', [{ body: `line ${at}`, trace: 9, span: at }])
  writer.link()
  writer.db.exec("UPDATE logs SET raw = x'ff' WHERE id = 2")
  writer.pass(11_000)
  expect(writer.db.prepare('SELECT log FROM log_outbox').pluck().all()).toEqual([1, 3])
  expect(asideRows(writer.db)).toMatchObject([{ stage: 'waiting', kind: 'log record', item: 2 }])
})

test('a log record that cannot be read is passed over in its turn, not before', async () => {
  using writer = await TestWriter.open({ linking: { logs: true } })
  writer.spans('controller', [{ trace: 1, id: 1 }])
  writer.logs('controller', [{ body: 'line', trace: 9, span: 1 }])
  writer.logs('controller', [{ body: 'line', trace: 9, span: 2 }])
  writer.spans('controller', [{ trace: 1, id: 2 }])
  writer.db.exec("UPDATE logs SET raw = x'ff' WHERE id = 2")
  writer.pass(11_000)
  expect(asideRows(writer.db)).toMatchObject([{ stage: 'linking', kind: 'log record', item: 2 }])
  expect(sentIds(writer.db)).toEqual(new Set([hexSpan(1), hexSpan(2)]))
})

test('a trace that cannot be settled ends without a word, and all others settle', async () => {
  using broken = await breakable()
  const { writer, spoil } = broken
  for (let at = 1; at <= 5; at++) {
    writer.mergelogs('controller', [{ new: cpid(at) }])
    writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
  }
  writer.link()
  spoil(4)
  writer.pass(300_000)
  expect(writer.sent().filter(({ name }) => name === 'cascade')).toHaveLength(4)
  expect(asideRows(writer.db)).toMatchObject([
    {
      stage: 'settling',
      kind: 'trace',
      item: 4,
      cpid: cpid(4),
      reason: expect.stringMatching(/^SyntaxError: .* \(at .*\.ts:\d+\)$/),
    },
  ])
  expect(writer.writer.gauges()).toMatchObject({ openTraces: 0, setAside: 1 })
  expect(writer.writer.linking.takeCounts().settled).toBe(4)
})

test('what one event leads to is undone with it, and done in its own time', async () => {
  using broken = await breakable()
  const { writer, lose } = broken
  writer.spans('controller', [
    { trace: 1, id: 11, parent: 10 },
    { trace: 2, id: 21, parent: 20 },
  ])
  writer.link()
  writer.spans('controller', [
    { trace: 1, id: 10, cpid: cpid(1) },
    { trace: 2, id: 20, cpid: cpid(2) },
  ])
  writer.mergelogs('controller', [{ new: cpid(1) }, { new: cpid(2) }])
  lose(1)
  writer.pass(11_000)
  const sent = sentIds(writer.db)
  expect([10, 11, 20, 21].map((id) => sent.has(hexSpan(id)))).toEqual([false, false, true, true])
  expect(asideRows(writer.db)).toMatchObject([
    { stage: 'linking', kind: 'span', item: 3 },
    // The child, which takes the CPID of its parent.
    { stage: 'waiting', kind: 'span', item: 1 },
  ])
  expect(writer.writer.gauges()).toMatchObject({ waiting: 0 })
})

test('it is remembered across a restart, and the newest thousand are', async () => {
  using broken = await breakable()
  const { writer, lose } = broken
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  writer.mergelogs('controller', [{ new: cpid(1) }])
  for (let at = 1; at <= 2; at++) {
    const spans = Array.from({ length: 550 }, (_, i) => ({ trace: 1, id: at * 1_000 + i, cpid: cpid(1) }))
    writer.spans('controller', spans)
  }
  lose(1)
  // However many there are, each costs the same.
  let turns = 0
  while (writer.writer.link(500) > 0) turns++
  expect(turns).toBeLessThan(12)
  const restarted = writer.reopened()
  expect(restarted.writer.gauges().setAside).toBe(1_000)
  expect(asideRows(writer.db).at(-1)).toMatchObject({ item: 1_103 })
  restarted.spans('controller', [{ trace: 2, id: 2 }])
  restarted.pass(11_000)
  expect(sentIds(writer.db)).toContain(hexSpan(2))
})

test('a database that cannot be written, or is held, sets nothing aside', async () => {
  using broken = await breakable()
  const { writer } = broken
  writer.mergelogs('controller', [{ new: cpid(1) }])
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  writer.refuseWrites()
  expect(() => writer.writer.link(10)).toThrow(/readonly/)
  writer.allowWrites()
  const other = openForWriting(writer.db.name)
  other.exec('BEGIN IMMEDIATE')
  writer.db.pragma('busy_timeout = 1')
  expect(() => writer.writer.link(10)).toThrow(/locked/)
  other.close()
  writer.link()
  expect(asideRows(writer.db)).toEqual([])
  expect(sentIds(writer.db)).toContain(hexSpan(1))
})

test('what was rolled back is counted once', async () => {
  using broken = await breakable()
  const { writer, spoil } = broken
  for (let at = 1; at <= 4; at++) writer.spans('controller', [{ trace: at, id: at }])
  writer.mergelogs('controller', [{ new: cpid(1) }])
  spoil(1)
  writer.pass(11_000)
  expect(asideRows(writer.db)).not.toEqual([])
  expect(writer.writer.linking.takeCounts()).toMatchObject({ unattributed: 4, sent: 4 })
})
