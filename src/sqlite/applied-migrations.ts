import { MIGRATIONS } from '../../migrations/index.ts'
import type { Sqlite } from './open-database.ts'

/** What 001-schema was before the first release: all of them together make the same tables. */
const WAS_SCHEMA = [
  '001-arrivals-and-graph',
  '002-linking',
  '003-audit-views',
  '004-log-forwarding',
  '005-refused-senders',
  '006-counted-cpids',
]
const SCHEMA = '001-schema'

/** The migrations that a file has; those from before the first release as what they are now. */
export function appliedMigrations(db: Sqlite): string[] {
  const stored = storedNames(db)
  return isFromBefore(stored) ? [SCHEMA, ...stored.filter((name) => !WAS_SCHEMA.includes(name))] : stored
}

/** Migrations that this Causeway does not know, as a newer one has left them. */
export function unknownMigrations(applied: readonly string[]): string[] {
  return applied.filter((name) => !(name in MIGRATIONS) && !WAS_SCHEMA.includes(name))
}

/** Whether a development version from before the first release made it, and was older than any that can be gone on from. */
export function isUnfinished(applied: readonly string[]): boolean {
  return applied.some((name) => WAS_SCHEMA.includes(name))
}

/** Writes down the migrations from before the first release as what they are now; inside a transaction. */
export function renameApplied(db: Sqlite): void {
  if (!isFromBefore(storedNames(db))) return
  const [first, ...others] = WAS_SCHEMA
  db.prepare('UPDATE kysely_migration SET name = ? WHERE name = ?').run(SCHEMA, first)
  const remove = db.prepare('DELETE FROM kysely_migration WHERE name = ?')
  for (const name of others) remove.run(name)
}

function isFromBefore(stored: readonly string[]): boolean {
  return WAS_SCHEMA.every((name) => stored.includes(name))
}

function storedNames(db: Sqlite): string[] {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'").get()
  if (table === undefined) return []
  return db.prepare<[], string>('SELECT name FROM kysely_migration ORDER BY name').pluck().all()
}
