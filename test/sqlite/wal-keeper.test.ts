import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { afterAll, expect, test } from '@jest/globals'
import type { PragmaOptions } from 'better-sqlite3'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import {
  closeWriting,
  openForReading,
  openForWriting,
  type Sqlite,
} from '../../src/store/sqlite/open-database.ts'
import { WalLength } from '../../src/store/sqlite/write-ahead-log.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const KEPT_BYTES = 200_000
const folder = mkdtempSync(join(tmpdir(), 'causeway-wal-'))

afterAll(() => rmSync(folder, { recursive: true }))

function write(writer: TestWriter, from: number): void {
  const payload = 'x'.repeat(2_000)
  for (let id = from; id < from + 100; id++)
    writer.spans('controller', [{ trace: id, id, cpid: cpid(id), attributes: { payload } }])
}

/** What `work` returns, and for how many milliseconds the pragma in it would have waited for others. */
function waitingWhile<T>(db: Sqlite, asked: string, work: () => T): [T, unknown] {
  const pragma = db.pragma.bind(db)
  let waits: unknown
  const spy = mock.method(db, 'pragma', (source: string, options?: PragmaOptions) => {
    if (source === asked) waits = pragma('busy_timeout', { simple: true })
    return pragma(source, options)
  })
  const result = work()
  spy.mock.restore()
  return [result, waits]
}

test('the write-ahead log that a reader made grow is shortened once the reader is gone, and nobody waits for it', async () => {
  const path = join(folder, 'causeway.db')
  // A file that is there is migrated where it is, which leaves a long log.
  writeFileSync(path, '')
  using writer = await TestWriter.open({}, path)
  const wal = new WalLength(writer.db, KEPT_BYTES)
  expect(wal.shorten()).toBe('shortened')
  expect(wal.shorten()).toBe('short')

  const reader = openForReading(path)
  const reading = reader.prepare('SELECT * FROM progress').iterate()
  reading.next()
  write(writer, 1)
  expect(wal.bytes()).toBeGreaterThan(KEPT_BYTES)
  expect(waitingWhile(writer.db, 'wal_checkpoint(TRUNCATE)', () => wal.shorten())).toEqual(['held', 0])
  expect(writer.db.pragma('busy_timeout', { simple: true })).toBe(5_000)
  write(writer, 101)

  reading.return?.()
  reader.close()
  expect(wal.shorten()).toBe('shortened')
  expect(wal.bytes()).toBe(0)
  expect(writer.rows('spans')).toBe(200)
})

test('a database in memory has none', async () => {
  using writer = await TestWriter.open()
  const wal = new WalLength(writer.db, 0)
  expect([wal.bytes(), wal.shorten(), wal.freeBytes()]).toEqual([0, 'short', 0])
})

test('closing does not wait for a program that never lets go of the log, and what lies in it stays', async () => {
  const path = join(folder, 'replicated.db')
  const db = openForWriting(path)
  await migrate(db)
  const reader = openForReading(path)
  reader.exec('BEGIN; SELECT count(*) FROM spans')
  db.exec('CREATE TABLE later (id INTEGER)')
  const [, waits] = waitingWhile(db, 'wal_checkpoint(TRUNCATE)', () => closeWriting(db))
  expect(waits).toBeLessThanOrEqual(1_000)
  reader.exec('COMMIT')
  expect(reader.prepare('SELECT count(*) FROM later').pluck().get()).toBe(0)
  reader.close()
})
