import { expect, test } from '@jest/globals'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holdDatabase } from '../../src/sqlite/hold-database.ts'
import { migrate } from '../../src/sqlite/migrate.ts'
import { openForWriting } from '../../src/sqlite/open-database.ts'

const GOLDEN = new URL('../golden/schema.sql', import.meta.url)
const isRewriting = process.env['CAUSEWAY_GOLDEN'] === '1'

async function dumpedSchema(): Promise<string> {
  const db = openForWriting(':memory:')
  await migrate(db)
  const statements = db
    .prepare<[], string>(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all()
  db.close()
  return statements.map((sql) => `${sql.replaceAll(/\n {2,}/g, '\n  ')};\n`).join('\n')
}

test('the schema is the reviewed one (npm run golden rewrites it)', async () => {
  const schema = await dumpedSchema()
  if (isRewriting) writeFileSync(GOLDEN, schema)
  expect(schema).toBe(readFileSync(GOLDEN, 'utf8'))
})

test('a commit is on the disk before it returns', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-durable-'))
  const db = openForWriting(join(folder, 'causeway.db'))
  const FULL = 2
  expect(db.pragma('synchronous', { simple: true })).toBe(FULL)
  expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
  db.close()
  rmSync(folder, { recursive: true })
})

test('migrating twice changes nothing', async () => {
  const db = openForWriting(':memory:')
  expect((await migrate(db)).applied.length).toBeGreaterThan(0)
  expect(await migrate(db)).toEqual({ applied: [] })
  db.close()
})

test('CPIDs of a database from before they were counted are counted', async () => {
  const db = openForWriting(':memory:')
  await migrate(db)
  db.exec('ALTER TABLE progress DROP COLUMN live_cpids')
  db.exec('ALTER TABLE progress DROP COLUMN tombstones')
  db.exec("DELETE FROM kysely_migration WHERE name >= '006'")
  const add = db.prepare(
    'INSERT INTO cpids (uuid, state, first_seen_ms, missing_since_ms, prune_ns) VALUES (randomblob(16), ?, 0, 0, 0)',
  )
  for (const state of [0, 1, 0, 0, 1]) add.run(state)
  await migrate(db)
  expect(db.prepare('SELECT live_cpids, tombstones FROM progress').get()).toEqual({
    live_cpids: 3,
    tombstones: 2,
  })
  db.close()
})

test('a database of a newer version is left alone', async () => {
  const db = openForWriting(':memory:')
  await migrate(db)
  db.prepare("INSERT INTO kysely_migration VALUES ('999-from-the-future', '2030-01-01T00:00:00.000Z')").run()
  await expect(migrate(db)).rejects.toThrow(/newer Causeway \(it has 999-from-the-future\)/)
  db.close()
})

test('every audit view answers', async () => {
  const db = openForWriting(':memory:')
  await migrate(db)
  const views = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all()
  expect(views.length).toBeGreaterThan(5)
  for (const view of views) expect(db.prepare(`SELECT * FROM ${view}`).all()).toEqual([])
  db.close()
})

test('a database is held by one running Causeway at a time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-hold-'))
  const path = join(folder, 'causeway.db')
  {
    using first = holdDatabase(path)
    expect(first).toBeDefined()
    expect(() => holdDatabase(path)).toThrow(
      /another Causeway is running on the database .*causeway\.db; stop it/,
    )
  }
  holdDatabase(path)[Symbol.dispose]()
  rmSync(folder, { recursive: true })
})
