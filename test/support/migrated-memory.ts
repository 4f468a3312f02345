import { readFileSync } from 'node:fs'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { ReusedDatabases } from './reused-databases.ts'

let migrated: Promise<Buffer> | undefined
let databases: ReusedDatabases | undefined

/** A database in memory that is up to date: a copy, at a sixtieth of the cost of migrating one, or an earlier one again. */
export async function migratedMemory(): Promise<Sqlite> {
  const bytes = await migratedBytes()
  databases ??= new ReusedDatabases(bytes)
  return databases.lend()
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
