import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openForReading } from '../../src/store/sqlite/open-database.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

let folder = ''
let path = ''

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-readers-'))
  path = join(folder, 'causeway.db')
  using writer = await TestWriter.open({}, path)
  writer.mergelogs('a', [{ new: cpid(1) }])
  writer.shortenLog()
})
afterEach(() => rmSync(folder, { recursive: true }))

test.each([
  'DELETE FROM mergelogs',
  "UPDATE resources SET service = 'somebody else'",
  "INSERT INTO rejected_mergelogs (arrived_ms, cpid, sources, reason, scope) VALUES (1, '', '', '', 1)",
  'DROP TABLE spans',
  'CREATE TABLE own (a)',
  'VACUUM',
  'PRAGMA user_version = 7',
  'REINDEX',
])('nobody who reads can say %s, even after taking query_only back', (statement) => {
  const before = readFileSync(path)
  const db = openForReading(path)
  expect(db.pragma('query_only', { simple: true })).toBe(1)
  expect(() => db.exec(statement)).toThrow(/readonly/)
  db.pragma('query_only = OFF')
  expect(() => db.exec(statement)).toThrow(/readonly|attempt to write/)
  db.close()
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a connection for questions cannot write to another file', () => {
  const db = openForReading(path)
  db.pragma('query_only = OFF')
  expect(() => {
    db.exec(`ATTACH '${join(folder, 'other.db')}' AS other`)
    db.exec('CREATE TABLE other.own (a)')
  }).toThrow(/unable to open|readonly/)
  db.close()
  expect(readdirSync(folder).filter((name) => !name.startsWith('causeway.db'))).toEqual([])
})

test('a folder is no database, and it is said that it is one', () => {
  expect(() => openForReading(folder)).toThrow(
    `cannot open the database ${folder} (connectors::cpid::storage::path): it is a folder; name a file in it`,
  )
})
