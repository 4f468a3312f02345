import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import type { WalPages } from '../../src/model/store-ports.ts'
import { Checkpoints, type CheckpointSettings, startCheckpointThread } from '../../src/store/checkpoints.ts'
import { openForReading, openForWriting, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import { SqliteWalCheckpointer } from '../../src/store/sqlite/write-ahead-log.ts'

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

test('a thread that ended by itself while it was to move the log is followed by another, at most once a minute', async () => {
  let ms = 0
  const ends: string[] = []
  const told = Promise.withResolvers<undefined>()
  const onEnded = (reason: string): void => {
    ends.push(reason)
    told.resolve(undefined)
  }
  // The thread cannot open a database that is not where it is said to be.
  await using at = await written({ onEnded, nowMs: () => ms }, 'elsewhere')
  write(at.db, 30 * MIB)
  at.checkpoints.look()
  await told.promise
  expect(ends).toEqual([
    expect.stringMatching(/ended by itself \(.*unable to open database file.*\); nothing is lost/),
  ])
  renameSync(join(at.folder, 'elsewhere'), at.path)

  ms = 59_999
  at.checkpoints.look()
  for (let round = 0; round < 1_000; round++) await turn()
  expect(at.state().checkpointed).toBe(0)

  ms = 60_000
  while (at.state().checkpointed === 0) {
    at.checkpoints.look()
    await turn()
  }
  expect(ends).toHaveLength(1)
})

test('the end waits for no thread that is gone, nor is that told of', async () => {
  const ends: string[] = []
  const told = Promise.withResolvers<undefined>()
  const onEnded = (reason: string): void => {
    ends.push(reason)
    told.resolve(undefined)
  }
  const at = await written({ onEnded, nowMs: () => 0 }, 'elsewhere')
  write(at.db, 30 * MIB)
  at.checkpoints.look()
  await told.promise
  await at[Symbol.asyncDispose]()
  expect(ends).toHaveLength(1)
})

test('there is no thread at rest; the next one starts when the log is long again', async () => {
  const threads: ReturnType<typeof startCheckpointThread>[] = []
  const ends: string[] = []
  await using at = await written({
    onEnded: (reason) => ends.push(reason),
    start: (path) => {
      const thread = startCheckpointThread(path)
      threads.push(thread)
      return thread
    },
  })
  at.checkpoints.look()
  at.checkpoints.rest()
  expect(threads).toHaveLength(0)
  for (let round = 1; round <= 3; round++) {
    write(at.db, 30 * MIB)
    at.checkpoints.look()
    expect(threads).toHaveLength(round)
    // What is under way is done first.
    at.checkpoints.rest()
    await untilQuiet(at)
    const end = { isOver: false }
    void threads[round - 1]?.ended.then(() => (end.isOver = true))
    while (!end.isOver) {
      at.checkpoints.rest()
      await turn()
    }
  }
  expect([ends, rows(at.db)]).toEqual([[], 3])
})

interface Written extends AsyncDisposable {
  folder: string
  path: string
  db: Sqlite
  checkpoints: Checkpoints
  state: () => WalPages
}

/** With `movedTo`, the file has another name when the thread begins. */
async function written(
  {
    start = startCheckpointThread,
    ...settings
  }: Partial<Omit<CheckpointSettings, 'start'> & { start: typeof startCheckpointThread }> = {},
  movedTo?: string,
): Promise<Written> {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-checkpoints-'))
  const path = join(folder, 'causeway.db')
  const db = openForWriting(path)
  db.exec('CREATE TABLE blobs (id INTEGER PRIMARY KEY, bytes BLOB)')
  if (movedTo !== undefined) renameSync(path, join(folder, movedTo))
  const log = new SqliteWalCheckpointer(db)
  const checkpoints = new Checkpoints(log, {
    nowMs: () => performance.now(),
    ...settings,
    start: () => start(path),
  })
  await turn()
  return {
    folder,
    path,
    db,
    checkpoints,
    state: () => log.pages(),
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
