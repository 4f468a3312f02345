import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { Kysely, SqliteDialect } from 'kysely'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { MIGRATIONS } from '../../migrations/index.ts'
import { decodeLogs } from '../../src/model/otlp/decode-requests.ts'
import { digestOfLog } from '../../src/model/otlp/same-content.ts'
import { migrate, schemaState } from '../../src/store/sqlite/migrate.ts'
import { holdDatabase, openForWriting, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import { encodedOtherwise } from '../support/encoded-otherwise.ts'
import { logsRequest } from '../support/otlp-requests.ts'

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

/** A database as it was before a migration, and that migration. */
async function beforeMigration(number: string): Promise<{ db: Sqlite; migrateOn: () => Promise<void> }> {
  const db = openForWriting(':memory:')
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) })
  for (const [name, migration] of Object.entries(MIGRATIONS)) if (name < number) await migration.up(kysely)
  const next = Object.entries(MIGRATIONS).find(([name]) => name.startsWith(number))?.[1]
  return { db, migrateOn: async () => next?.up(kysely) }
}

test('open episodes of full traces are told from those begun after settling; who wrote what is kept', async () => {
  const { db, migrateOn } = await beforeMigration('009')
  const add = db.prepare(
    `INSERT INTO traces (trace_id, root, episode, opened_ms, state, root_span, last_arrival_ms, due_ms, first_ns, last_ns,
       sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent, provisional, last_decision,
       last_wall_ms) VALUES (randomblob(16), ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  )
  for (const trace of [
    [1, 0, 500, 1],
    [1, 1, 500, 0],
    [2, 0, 500, 1],
    [2, 1, 900, 0],
  ])
    add.run(trace)
  db.exec("INSERT INTO trace_writes VALUES (1, 2, 30, 4, 50, 'uid')")
  await migrateOn()
  expect(db.prepare('SELECT continues_root FROM traces ORDER BY id').pluck().all()).toEqual([0, 1, 0, 0])
  expect(db.prepare('SELECT * FROM trace_writes').all()).toEqual([
    { trace: 1, object: 2, version: 50, end_ns: 30, span: 4, uid: 'uid' },
  ])
  db.close()
})

test('rows that name a scope are counted in a database from before scopes were counted', async () => {
  const { db, migrateOn } = await beforeMigration('013')
  const span = `INSERT INTO spans (origin, span_id, parent_id, start_ns, end_ns, scope, kind, status, flags, name, raw)
    VALUES (1, ?, 0, 0, 0, ?, 1, 0, 0, '', x'')`
  const resource = "INSERT INTO resources (hash, service, envelope) VALUES (?, '', x'')"
  for (const id of [1, 2, 3]) {
    db.prepare(resource).run(Buffer.from([id]))
    db.prepare("INSERT INTO scopes (resource, hash, envelope) VALUES (?, x'', x'')").run(id)
  }
  for (const [id, scope] of [
    [1, 1],
    [2, 1],
    [3, 3],
  ])
    db.prepare(span).run(id, scope)
  db.exec(
    "INSERT INTO logs (time_ns, scope, severity, event_name, span_id, raw) VALUES (0, 3, 0, '', 0, x'')",
  )
  db.exec('INSERT INTO outbox (decision, trace, parent_id, flags) VALUES (1, 1, 0, 0)')
  await migrateOn()
  expect(db.prepare('SELECT uses FROM scopes ORDER BY id').pluck().all()).toEqual([2, 0, 2])
  db.exec('DELETE FROM spans WHERE scope = 1; DELETE FROM outbox')
  expect(db.prepare('SELECT uses FROM scopes ORDER BY id').pluck().all()).toEqual([0, 0, 2])
  db.close()
})

test('a log record of an older database is known again, however it is encoded', async () => {
  const { db, migrateOn } = await beforeMigration('024')
  const record = { body: 'tick', time: 1, attributes: { a: 'x', b: 'y' } }
  const request = logsRequest('a', [record])
  db.exec("INSERT INTO resources (id, hash, service, envelope) VALUES (1, x'', 'a', x'')")
  db.exec("INSERT INTO scopes (id, resource, hash, envelope) VALUES (1, 1, x'', x'')")
  const [log] = decodeLogs(request).resources[0]?.scopes[0]?.records ?? []
  db.prepare(
    `INSERT INTO logs (id, time_ns, scope, severity, event_name, span_id, raw, digest) VALUES (1, ?, 1, 9, '', 0, ?, 77)`,
  ).run(log?.timeNs, log?.raw)
  await migrateOn()
  const otherwise = decodeLogs(encodedOtherwise('logs', request, 'other order', seededRandom(3)))
  const [again] = otherwise.resources[0]?.scopes[0]?.records ?? []
  expect(again?.raw).not.toEqual(log?.raw)
  expect(db.prepare('SELECT digest FROM logs').pluck().get()).toBe(digestOfLog(again?.raw ?? Buffer.alloc(0)))
  db.close()
})

test('traces that go on from full ones are one cascade, and what they wrote is together', async () => {
  const { db, migrateOn } = await beforeMigration('011')
  const add = db.prepare(
    `INSERT INTO traces (trace_id, root, episode, opened_ms, state, root_span, last_arrival_ms, due_ms, first_ns, last_ns,
       sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent, provisional, last_decision,
       last_wall_ms) VALUES (randomblob(16), ?, ?, ?, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  )
  for (const trace of [
    [1, 0, 500],
    [1, 1, 500],
    [1, 2, 500],
    [1, 3, 900],
    [1, 4, 900],
    [2, 0, 500],
  ])
    add.run(trace)
  const write = db.prepare(
    'INSERT INTO trace_writes (trace, object, version, end_ns, span) VALUES (?, 7, 1, 1, ?)',
  )
  for (const trace of [1, 2, 3, 4, 5, 6]) write.run(trace, 10 * trace)
  await migrateOn()
  expect(db.prepare('SELECT continues FROM traces ORDER BY id').pluck().all()).toEqual([
    null,
    1,
    1,
    null,
    4,
    null,
  ])
  expect(db.prepare('SELECT trace, span FROM trace_writes').raw().all()).toEqual([
    [1, 10],
    [1, 20],
    [1, 30],
    [4, 40],
    [4, 50],
    [6, 60],
  ])
  db.close()
})

test('a database of a newer version is left alone', async () => {
  const db = openForWriting(':memory:')
  await migrate(db)
  db.prepare("INSERT INTO kysely_migration VALUES ('999-from-the-future', '2030-01-01T00:00:00.000Z')").run()
  await expect(migrate(db)).rejects.toThrow(/newer Causeway \(it has 999-from-the-future\)/)
  db.close()
})

test('a cascade that was linked before is found by the namespaces that it wrote into', async () => {
  const { db, migrateOn } = await beforeMigration('018')
  const trace = db.prepare(
    `INSERT INTO traces (id, trace_id, root, episode, continues, opened_ms, state, root_span, last_arrival_ms, due_ms, first_ns, last_ns,
       sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent, provisional, last_decision,
       last_wall_ms) VALUES (?, randomblob(16), ?, ?, ?, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  )
  trace.run(1, 10, 0, null)
  trace.run(2, 10, 1, 1)
  trace.run(3, 11, 0, null)
  db.exec(`INSERT INTO objects (id, cluster, object) VALUES (1, '', 'v1/pods/shop/web'), (2, '', 'v1/nodes/a'),
     (3, '', 'apps/v1/deployments/default/web');
   INSERT INTO trace_writes (trace, object, version, end_ns, span) VALUES (1, 1, 5, 0, 1), (1, 1, 6, 0, 2), (3, 2, 7, 0, 3);
   INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope, object_id) VALUES (1, 10, 0, 0, x'', 1, 3)`)
  await migrateOn()
  expect(db.prepare('SELECT trace, namespace FROM trace_namespaces').raw().all()).toEqual([
    [1, 'default'],
    [1, 'shop'],
  ])
  db.close()
})

/** The names of the migrations that 001-schema was made of. */
const WAS_SCHEMA = [
  '001-arrivals-and-graph',
  '002-linking',
  '003-audit-views',
  '004-log-forwarding',
  '005-refused-senders',
  '006-counted-cpids',
]

/** A database in which these migrations stand in the place of 001-schema. */
async function fromBefore(names: readonly string[]): Promise<Sqlite> {
  const db = openForWriting(':memory:')
  await migrate(db)
  db.exec("DELETE FROM kysely_migration WHERE name = '001-schema'")
  const add = db.prepare("INSERT INTO kysely_migration VALUES (?, '2026-01-01T00:00:00.000Z')")
  for (const name of names) add.run(name)
  return db
}

async function migrationTable(): Promise<string> {
  const db = openForWriting(':memory:')
  await migrate(db)
  const made = db
    .prepare<[], string>("SELECT sql FROM sqlite_schema WHERE name = 'kysely_migration'")
    .pluck()
    .get()
  db.close()
  return made ?? ''
}

test('a database whose first migrations were several is gone on with, and knows them as one from then on', async () => {
  const last = Object.keys(MIGRATIONS).at(-1) ?? ''
  const { db } = await beforeMigration(last)
  db.exec(await migrationTable())
  const add = db.prepare("INSERT INTO kysely_migration VALUES (?, '2026-01-01T00:00:00.000Z')")
  const applied = Object.keys(MIGRATIONS).filter((name) => name !== '001-schema' && name !== last)
  for (const name of [...WAS_SCHEMA, ...applied]) add.run(name)
  expect(schemaState(db)).toBe('older')
  expect(await migrate(db)).toEqual({ applied: [last] })
  const names = db.prepare('SELECT name FROM kysely_migration ORDER BY name').pluck().all()
  expect(names).toEqual(Object.keys(MIGRATIONS))
  expect([schemaState(db), await migrate(db)]).toEqual(['current', { applied: [] }])
  db.close()
})

test('a database that has only some of them is refused, and stays as it is', async () => {
  const db = await fromBefore(WAS_SCHEMA.slice(0, 4))
  db.exec("DELETE FROM kysely_migration WHERE name > '004-log-forwarding'")
  expect(schemaState(db)).toBe('older')
  await expect(migrate(db)).rejects.toThrow(
    /development version from before the first release \(it has 001-arrivals.*; keep it for that version/,
  )
  expect(db.prepare('SELECT count(*) FROM kysely_migration').pluck().get()).toBe(4)
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

test('names as long as requests are cut, and what they came in stays whole', async () => {
  const { db, migrateOn } = await beforeMigration('025')
  const long = 'é'.repeat(100_000)
  const envelope = Buffer.from(long)
  db.prepare("INSERT INTO resources (id, hash, service, cluster, envelope) VALUES (1, x'01', ?, ?, ?)").run(
    long,
    long,
    envelope,
  )
  db.exec(
    "INSERT INTO resources (id, hash, service, cluster, envelope) VALUES (2, x'02', 'short', NULL, x'')",
  )
  db.prepare(
    `INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope, object, reason) VALUES (1, 1, 0, 0, x'', 1, ?, ?)`,
  ).run(long, long)
  await migrateOn()
  const cut = 'é'.repeat(1_024)
  expect(db.prepare('SELECT service, cluster FROM resources ORDER BY id').all()).toEqual([
    { service: cut, cluster: cut },
    { service: 'short', cluster: null },
  ])
  expect(db.prepare('SELECT envelope FROM resources WHERE id = 1').pluck().get()).toEqual(envelope)
  expect(db.prepare('SELECT object, reason FROM mergelogs').all()).toEqual([{ object: cut, reason: cut }])
  db.close()
})
