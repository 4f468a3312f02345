import { MIGRATIONS } from '../../migrations/index.ts'
import type { SchemaState } from '../model/ports/setup-port.ts'
import type { Sqlite } from './open-database.ts'

/** Looks only; an empty file is an older one. */
export function schemaState(db: Sqlite): SchemaState {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'").get()
  if (table === undefined) return 'older'
  const applied = db.prepare<[], string>('SELECT name FROM kysely_migration').pluck().all()
  if (applied.some((name) => !(name in MIGRATIONS))) return 'newer'
  return Object.keys(MIGRATIONS).every((name) => applied.includes(name)) ? 'current' : 'older'
}
