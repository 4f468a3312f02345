import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { schemaState } from '../../src/store/sqlite/migrate.ts'
import { openForReading } from '../../src/store/sqlite/open-database.ts'
import { Cli } from '../cli/cli.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { exampleDatabase } from './example-database.ts'

const FOLDER = new URL('../golden/releases/', import.meta.url)
const MAX_BYTES = 200_000
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const databaseOf = (release: string): URL => new URL(`${release}.db.gz`, FOLDER)
const answersOf = (release: string): URL => new URL(`${release}.json`, FOLDER)

const QUESTIONS = [
  ['cascades'],
  ['cascade', cpid(1)],
  ['cascade', cpid(4)],
  ['related', cpid(1)],
  ['mergelogs'],
  ['sql', 'SELECT source, cpid FROM audit_edges ORDER BY source, cpid'],
  ['sql', 'SELECT cpid, trace_id, span_id, service, name, status FROM audit_spans ORDER BY span_id'],
  [
    'sql',
    'SELECT cpid, object, object_version, action FROM audit_object_events ORDER BY object, object_version, action, arrival',
  ],
  ['sql', `SELECT root, state, spans FROM audit_cascades ORDER BY root`],
]

async function answers(cli: Cli): Promise<unknown> {
  const answered: Record<string, unknown> = {}
  for (const question of QUESTIONS) answered[question.join(' ')] = await cli.json(...question)
  return answered
}

let cli: Cli
beforeEach(() => {
  cli = new Cli()
  mkdirSync(dirname(cli.path))
})
afterEach(() => cli[Symbol.dispose]())

test('this version has its database among those of the releases (npm run golden makes it, once)', async () => {
  if (process.env['CAUSEWAY_GOLDEN'] === '1' && !existsSync(databaseOf(version))) {
    await exampleDatabase(cli.path)
    writeFileSync(answersOf(version), `${JSON.stringify(await answers(cli), undefined, 2)}\n`)
    const db = new Database(cli.path)
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
    writeFileSync(databaseOf(version), gzipSync(readFileSync(cli.path), { level: 9 }))
  }
  const kept = readFileSync(databaseOf(version))
  expect(kept.length).toBeLessThan(MAX_BYTES)
})

const releases = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.db.gz'))
  .map((name) => name.replace('.db.gz', ''))

test.each(releases)('the database of %s is migrated, answers as it did, and takes more', async (release) => {
  writeFileSync(cli.path, gunzipSync(readFileSync(databaseOf(release))))
  expect(await cli.run('migrate')).toMatchObject({ code: 0, stderr: '' })
  const db = openForReading(cli.path)
  expect(schemaState(db)).toBe('current')
  expect(db.prepare('SELECT * FROM pragma_integrity_check').pluck().all()).toEqual(['ok'])
  expect(db.prepare('SELECT * FROM pragma_foreign_key_check').all()).toEqual([])
  db.close()
  // A later program may say more.
  expect(await answers(cli)).toMatchObject(JSON.parse(readFileSync(answersOf(release), 'utf8')) as object)

  {
    using writer = await TestWriter.open({}, cli.path)
    writer.mergelogs('controller', [{ new: cpid(50), sources: [cpid(6)] }])
    writer.spans('controller', [{ trace: 900, id: 900, cpid: cpid(50) }])
    writer.link()
  }
  expect(JSON.stringify(await cli.json('related', cpid(6)))).toContain(cpid(50))
})
