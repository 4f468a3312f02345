import { MIGRATIONS } from '../../migrations/index.ts'
import type { SchemaState } from '../model/ports/setup-port.ts'
import { appliedMigrations, unknownMigrations } from './applied-migrations.ts'
import type { Sqlite } from './open-database.ts'

/** Looks only; an empty file is an older one. */
export function schemaState(db: Sqlite): SchemaState {
  const applied = appliedMigrations(db)
  if (unknownMigrations(applied).length > 0) return 'newer'
  return Object.keys(MIGRATIONS).every((name) => applied.includes(name)) ? 'current' : 'older'
}
