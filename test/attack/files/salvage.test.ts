import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { seededRandom } from '../../../lab/harness/seeded-random.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { cascadeLoad } from '../../process/support/cascade-load.ts'
import { pagesOf, swapPages } from '../../support/damage.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { plantEndlessTree } from './index-of-itself.ts'
import { CommandFolder } from './run-command.ts'

const MIB = 2 ** 20
const CASCADES = 50
/** What salvage may take of memory, whatever is in the file. */
const MOST_MEMORY = 300 * MIB

const sound = new CommandFolder()
const SOUND = join(sound.path, 'sound.db')
beforeAll(async () => {
  using writer = await TestWriter.open({}, SOUND)
  writer.writer.ingest(cascadeLoad(seededRandom(5), CASCADES).requests)
  writer.pass(20_000)
  writer.shortenLog()
  ownSchema = schemaOf(writer.db)
})
let ownSchema: unknown[] = []
const schemaOf = (db: Sqlite): unknown[] => db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY 1').all()
afterAll(() => sound[Symbol.dispose]())

const sql = (text: string) => (db: Sqlite) => void db.exec(text)

/** Puts something else in the place of a table; the columns are those it had. */
const instead = (table: string, make: (columns: string[]) => string) => (db: Sqlite) => {
  const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table)
  const views = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'view'").pluck().all()
  for (const view of views) db.exec(`DROP VIEW ${view}`)
  db.exec(`DROP TABLE ${table}; ${make(columns)}`)
}

const ENDLESS = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)'

/** What is done to a database, by SQL or in its file. */
type Attack = { sql: (db: Sqlite) => void } | { file: (path: string) => void }

const ATTACKS: Record<string, Attack> = {
  'spans that are a view without an end': {
    sql: instead(
      'spans',
      (columns) =>
        `CREATE VIEW spans(rowid, ${columns.join(', ')}) AS ${ENDLESS} SELECT x, ${columns.map(() => 'x').join(', ')} FROM n`,
    ),
  },
  'edges that are a view without an end': {
    sql: instead('edges', () => `CREATE VIEW edges(source, target) AS ${ENDLESS} SELECT x, x FROM n`),
  },
  'logs whose bytes are made up on reading': {
    sql: (db) => {
      const columns = db.prepare<[], string>("SELECT name FROM pragma_table_info('logs')").pluck().all()
      const others = columns.filter((name) => name !== 'raw' && name !== 'id').join(', ')
      instead(
        'logs',
        () => `CREATE TABLE logs (id INTEGER PRIMARY KEY, ${others}, raw AS (zeroblob(100000000)))`,
      )(db)
      db.exec(`${ENDLESS} INSERT INTO logs (id) SELECT x FROM n LIMIT 300`)
    },
  },
  'rowids that are no rowids': {
    sql: instead(
      'requests',
      (columns) =>
        `CREATE TABLE requests (rowid TEXT, ${columns.filter((name) => name !== 'rowid').join(', ')});
         ${ENDLESS} INSERT INTO requests (rowid) SELECT 'r' || x FROM n LIMIT 1000`,
    ),
  },
  'a table without its key': {
    sql: instead(
      'edges',
      () => `CREATE TABLE edges (source, target); INSERT INTO edges SELECT id, id FROM cpids`,
    ),
  },
  'rowids up to the last there is': {
    sql: sql(`${ENDLESS} INSERT INTO arrival_marks SELECT 9223372036854775807 - x + 1, x FROM n LIMIT 256`),
  },
  'triggers, and names that are SQL or command a terminal': {
    sql: sql(`CREATE TRIGGER gone AFTER INSERT ON spans BEGIN DELETE FROM cpids; END;
      CREATE TABLE "x; DROP TABLE spans; --" (a);
      CREATE TABLE "${String.fromCharCode(27)}[2Jsqlite" (a, "b' || (SELECT 1) || '");
      ALTER TABLE mergelogs ADD COLUMN "'); DELETE FROM cpids; --" TEXT`),
  },
  'an index that says other than its table': {
    sql: sql(
      'CREATE UNIQUE INDEX hostile ON edges (target, source DESC); CREATE INDEX other ON spans (abs(raw))',
    ),
  },
  'roots that are no JSON, or endless JSON': {
    sql: sql(`UPDATE cpids SET roots = 'roots' WHERE id % 3 = 0;
      UPDATE cpids SET roots = '${'['.repeat(10_000)}' WHERE id % 3 = 1`),
  },
  'a mergelog of a million sources among a hundred thousand others': {
    sql: sql(`UPDATE mergelogs SET sources = zeroblob(16000000) WHERE rowid = (SELECT min(rowid) FROM mergelogs);
      ${ENDLESS} INSERT INTO cpids (id, uuid, first_seen_ms, missing_since_ms, has_mergelog, prune_ns)
        SELECT 100000 + x, randomblob(16), 1, 1, 1, 1 FROM n LIMIT 100000;
      ${ENDLESS} INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope)
        SELECT 100000 + x, 100000 + x, 1, 1, zeroblob(16), 1 FROM n LIMIT 100000`),
  },
  'spans of megabytes': {
    sql: sql(`${ENDLESS} INSERT INTO spans SELECT * FROM spans WHERE 0;
      CREATE TEMP TABLE one AS SELECT * FROM spans LIMIT 1;
      UPDATE one SET raw = zeroblob(4000000);
      ${ENDLESS} INSERT INTO logs (id, scope, time_ns, severity, event_name, trace_id, span_id, raw) SELECT 1000000 + x, 1, 1, 0, '', x'', 0, zeroblob(4000000) FROM n LIMIT 120`),
  },
  'a tree of rows that leads to itself': { file: (path) => plantEndlessTree(path, 'arrival_marks', 'rowid') },
  'a tree of keys that leads to itself': { file: (path) => plantEndlessTree(path, 'edges', 'key') },
  'pages in the wrong order': {
    file: (path) => {
      const db = new Database(path)
      db.exec(
        `${ENDLESS} INSERT INTO arrival_marks SELECT 1000000000000 + x, 9000000000000000000 + x FROM n LIMIT 2000`,
      )
      db.close()
      const [one = 0, other = 0] = pagesOf(path, 'arrival_marks', 'leaf')
      swapPages(path, one, other)
    },
  },
}

test.each(Object.entries(ATTACKS))('%s', async (what, attack) => {
  using folder = new CommandFolder()
  const path = join(folder.path, 'hostile.db')
  copyFileSync(SOUND, path)
  if ('sql' in attack) {
    const db = new Database(path)
    db.unsafeMode()
    attack.sql(db)
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
  } else attack.file(path)
  const digest = (): string => createHash('sha256').update(readFileSync(path)).digest('hex')
  const before = digest()
  const config = folder.file(
    'config.yaml',
    `receivers: { otlp: { protocols: { grpc: } } }
connectors: { cpid: { storage: { path: ${path} } } }
service: { pipelines: { traces/in: { receivers: [otlp], exporters: [cpid] } } }`,
  )
  const { code, stderr, stdout } = await folder.run(
    what,
    ['salvage', 'new.db', '--config', config],
    MOST_MEMORY,
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain(String.fromCharCode(27))
  expect(digest()).toBe(before)
  const made = join(folder.path, 'new.db')
  const db = new Database(made, { readonly: true })
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(schemaOf(db)).toEqual(ownSchema)
  // What is not attacked is all there.
  expect(db.prepare('SELECT count(*) FROM cpids').pluck().get()).toBeGreaterThanOrEqual(CASCADES * 4)
  db.close()
  expect(existsSync(`${made}-copy`)).toBe(false)
  expect(readdirSync(folder.path).filter((name) => name.includes('copy'))).toEqual([])
})
