import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Checkpoints } from '../../src/app/checkpoints.ts'
import { openForReading, openForWriting, type Sqlite } from '../../src/sqlite/open-database.ts'
import { walStateOf, type WalState } from '../../src/sqlite/wal-checkpoint.ts'

const MIB = 1024 * 1024

test('the log is moved while the writer writes, and begins anew before it is long', async () => {
  await using at = await written()
  let longest = 0
  for (let round = 0; round < 40; round++) {
    write(at.db, 4 * MIB)
    at.checkpoints.look()
    await untilQuiet(at)
    longest = Math.max(longest, at.state().log)
  }
  // 160 MiB were written.
  expect(longest * 4096).toBeLessThan(64 * MIB)
  expect(rows(at.db)).toBe(40)
})

test('a reader of an older state holds the log up, and no more than that', async () => {
  await using at = await written()
  write(at.db, 4 * MIB)
  const reader = openForReading(at.path)
  reader.exec('BEGIN')
  expect(rows(reader)).toBe(1)

  for (let round = 0; round < 20; round++) {
    write(at.db, 4 * MIB)
    at.checkpoints.look()
    await untilQuiet(at, 1)
  }
  expect([rows(reader), rows(at.db)]).toEqual([1, 21])
  expect(at.state().log * 4096).toBeGreaterThan(80 * MIB)

  reader.close()
  do {
    write(at.db, 4 * MIB)
    at.checkpoints.look()
    await turn()
  } while (at.state().log * 4096 > 64 * MIB)
})

test('the end waits for the thread, and leaves the file alone with its writer', async () => {
  const at = await written()
  write(at.db, 20 * MIB)
  at.checkpoints.look()
  await at.checkpoints[Symbol.asyncDispose]()
  at.db.close()
  // The last connection to close takes the log with it.
  expect(existsSync(`${at.path}-wal`)).toBe(false)
  const again = new Database(at.path)
  expect(rows(again)).toBe(1)
  again.close()
  await at[Symbol.asyncDispose]()
})

interface Written extends AsyncDisposable {
  path: string
  db: Sqlite
  checkpoints: Checkpoints
  state: () => WalState
}

async function written(): Promise<Written> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-checkpoints-'))
  const path = join(folder, 'causeway.db')
  const db = openForWriting(path)
  db.exec('CREATE TABLE blobs (id INTEGER PRIMARY KEY, bytes BLOB)')
  const checkpoints = new Checkpoints(db)
  await turn()
  return {
    path,
    db,
    checkpoints,
    state: walStateOf(db),
    [Symbol.asyncDispose]: async () => {
      await checkpoints[Symbol.asyncDispose]()
      if (db.open) db.close()
      rmSync(folder, { recursive: true })
    },
  }
}

function write(db: Sqlite, bytes: number): void {
  db.prepare('INSERT INTO blobs (bytes) VALUES (zeroblob(?))').run(bytes)
}

function rows(db: Sqlite): number | undefined {
  return db.prepare<[], number>('SELECT count(*) FROM blobs').pluck().get()
}

/** Gives the thread time for what it was asked for; when a reader holds it up, so many turns. */
async function untilQuiet({ state, checkpoints }: Written, turns = Infinity): Promise<void> {
  for (let at = 0; at < turns; at++) {
    const { log, checkpointed } = state()
    const left = log - checkpointed
    if (left === 0 || (log < 14_000 && left < 7_000)) return
    checkpoints.look()
    await turn()
  }
}
