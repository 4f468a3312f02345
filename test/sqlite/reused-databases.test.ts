import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { migratedBytes, migratedMemory } from '../support/migrated-memory.ts'
import { cpid } from '../support/otlp-requests.ts'
import { ReusedDatabases } from '../support/reused-databases.ts'
import { TestWriter } from '../support/test-writer.ts'

const COUNT = 'SELECT n FROM counts WHERE n >= ? ORDER BY n'

function filled(): Buffer {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE counts (n INTEGER NOT NULL) STRICT; INSERT INTO counts VALUES (1), (2), (3)')
  return db.serialize()
}

/** All that is in it. */
function contentsOf(db: Sqlite): unknown {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all()
  return tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).raw().all()])
}

test('a database of tests answers as one that is opened, in whatever form it is asked, at first and when it is lent again', () => {
  const databases = new ReusedDatabases(filled())
  const answers = [new Database(filled()), databases.lend(), databases.lend()].map((db) => {
    db.prepare(COUNT)
    db.prepare('DELETE FROM counts WHERE n = ?')
    const answer = [
      db.prepare(COUNT).all(2),
      db.prepare(COUNT).pluck().all(2),
      db.prepare(COUNT).raw().safeIntegers().get(2),
      db.prepare(COUNT).pluck().pluck(false).get(3),
      [...db.prepare(COUNT).pluck().iterate(1)],
      db.prepare(COUNT).bind(3).all(),
      db
        .prepare(COUNT)
        .columns()
        .map(({ name }) => name),
      db.prepare('DELETE FROM counts WHERE n = ?').run(2),
      db.prepare(COUNT).get(4),
    ]
    db.close()
    return answer
  })

  expect(answers[1]).toEqual(answers[0])
  expect(answers[2]).toEqual(answers[0])
  expect(answers[0]?.[1]).toEqual([2, 3])
})

test('a text that SQLite does not take is refused where it is prepared', () => {
  const db = new ReusedDatabases(filled()).lend()

  expect(() => db.prepare('SELECT n FROM absent')).toThrow('no such table: absent')
  expect(() => db.prepare('SELECT n FROM absent')).toThrow('no such table: absent')
})

test('what one test wrote the next one does not find', async () => {
  const empty = contentsOf(new Database(await migratedBytes()))
  for (let time = 0; time < 3; time++) {
    using writer = await TestWriter.open()
    writer.writer.keepArchives(['archive'])
    writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)] }])
    writer.spans('kubectl', [
      { trace: 1, id: 1, cpid: cpid(1) },
      { trace: 1, id: 2, parent: 1, cpid: cpid(2), attributes: { 'cpid.wrote': ['v1/pods/a/b?uid=u&rv=2'] } },
      { trace: 2, id: 3, cpid: cpid(3) },
    ])
    writer.logs('kubectl', [{ trace: 1, span: 1, body: 'said' }])
    writer.pass(1_000_000)
    expect(writer.rows('outbox')).toBeGreaterThan(1)
    expect(writer.rows('archive_changes')).toBeGreaterThan(1)
    writer[Symbol.dispose]()
    const db = await migratedMemory()
    expect(contentsOf(db)).toEqual(empty)
    db.close()
  }
})

test('the functions of an earlier one are not called, and nothing is asked of it after its end', () => {
  const databases = new ReusedDatabases(filled())
  const answers = [1, 2].map((more) => {
    const db = databases.lend()
    db.function('plus', { deterministic: true }, (n: unknown) => Number(n) + more)
    const statement = db.prepare<[], number>('SELECT plus(n) FROM counts').pluck()
    const answer = statement.all()
    db.close()
    expect([db.open, db.close().open]).toEqual([false, false])
    for (const asked of [() => statement.all(), () => db.exec('SELECT 1'), () => db.prepare(COUNT)])
      expect(asked).toThrow('The database connection is not open')
    return answer
  })
  expect(answers).toEqual([
    [2, 3, 4],
    [3, 4, 5],
  ])
})

test.each([
  ['a table', (db: Sqlite) => db.exec('CREATE TEMP TABLE mine (n)')],
  ['a prepared view', (db: Sqlite) => db.prepare('CREATE VIEW mine AS SELECT 1').run()],
  ['a pragma', (db: Sqlite) => db.pragma('query_only = ON')],
  ['integers', (db: Sqlite) => db.defaultSafeIntegers(true)],
  ['an open transaction', (db: Sqlite) => db.exec('BEGIN')],
  ['much', (db: Sqlite) => db.exec(`INSERT INTO counts SELECT a.n FROM ${many('a')}`)],
])('one to which more was done is not lent again: %s', (_, doMore) => {
  const databases = new ReusedDatabases(filled())
  const first = databases.lend()
  doMore(first)
  const inner = Object.getPrototypeOf(first) as Sqlite
  first.close()
  expect(inner.open).toBe(false)
  const next = databases.lend()
  next.prepare('INSERT INTO counts VALUES (4)').run()
  expect(next.prepare(COUNT).pluck().all(0)).toEqual([1, 2, 3, 4])
  const again = Object.getPrototypeOf(next) as Sqlite
  next.close()
  expect(Object.getPrototypeOf(databases.lend())).toBe(again)
})

/** Some thousand rows. */
function many(name: string): string {
  return `counts ${name}, counts b, counts c, counts d, counts e, counts f, counts g, counts h`
}
