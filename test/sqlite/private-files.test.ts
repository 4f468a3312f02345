import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { holdDatabase, openForWriting } from '../../src/store/sqlite/open-database.ts'
import { whyNotPrivate } from '../../src/store/sqlite/private-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-private-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('the database, what SQLite keeps beside it and the lock are for their user alone, and it is said where they are not', () => {
  const before = process.umask(0o022)
  try {
    const path = join(folder, 'causeway.db')
    using held = holdDatabase(path)
    const db = openForWriting(path)
    db.exec('CREATE TABLE t (x)')
    const files = readdirSync(folder)
    expect(files.sort()).toEqual(['causeway.db', 'causeway.db-lock', 'causeway.db-shm', 'causeway.db-wal'])
    expect(files.map((file) => statSync(join(folder, file)).mode & 0o777)).toEqual(files.map(() => 0o600))
    expect(whyNotPrivate(path)).toBeUndefined()
    chmodSync(path, 0o640)
    chmodSync(`${path}-wal`, 0o604)
    expect(whyNotPrivate(path)).toBe(
      `others on this machine may open ${path}, ${path}-wal; chmod 600 closes them, unless they are meant to`,
    )
    expect(held).toBeDefined()
    db.close()
  } finally {
    process.umask(before)
  }
})

test('a database in memory has no file', () => {
  expect(whyNotPrivate(':memory:')).toBeUndefined()
})
