import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { preparesLate } from './late-statements.ts'

let migrated: Promise<Buffer> | undefined

/** A database in memory that is up to date: a copy, at a sixtieth of the cost of migrating one. */
export async function migratedMemory(): Promise<Sqlite> {
  const db = new Database(await migratedBytes())
  db.pragma('temp_store = MEMORY')
  return preparesLate(db)
}

/** What a file holds that was migrated and nothing else; jest has it made once for all tests (before-all.js). */
export function migratedBytes(): Promise<Buffer> {
  return (migrated ??= read(process.env.CAUSEWAY_MIGRATED))
}

async function read(path: string | undefined): Promise<Buffer> {
  if (path !== undefined) return readFileSync(path)
  const { serializedEmpty } = await import('./serialized-empty.ts')
  return serializedEmpty()
}
