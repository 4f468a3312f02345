import { Kysely, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import { MIGRATIONS } from '../../../migrations/index.ts'
import type { SchemaState } from '../../model/queries.ts'
import type { Sqlite } from './open-database.ts'

/** The names of the migrations that were applied. */
type Migrated = { applied: string[] }

/** Brings the schema up to date. Throws an Error that says what to do if a migration fails, or if a newer Causeway wrote the file. */
export async function migrate(sqlite: Sqlite): Promise<Migrated> {
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: keptOpen(sqlite) }) })
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: () => Promise.resolve(MIGRATIONS) },
  })
  checkApplied(sqlite)
  sqlite.exec('BEGIN IMMEDIATE')
  renameApplied(sqlite)
  const { error, results } = await migrator.migrateToLatest()
  sqlite.exec(error === undefined ? 'COMMIT' : 'ROLLBACK')
  if (error !== undefined) {
    const reason = error instanceof Error ? error.message : JSON.stringify(error)
    throw new Error(
      `cannot migrate the database: ${reason}; it is unchanged, restore it or name another file`,
      {
        cause: error,
      },
    )
  }
  return { applied: (results ?? []).map((result) => result.migrationName) }
}

function checkApplied(sqlite: Sqlite): void {
  const applied = appliedMigrations(sqlite)
  const newer = unknownMigrations(applied)
  if (newer.length > 0) {
    throw new Error(
      `the database ${sqlite.name} was written by a newer Causeway (it has ${newer.join(', ')}); ` +
        'start that version, or point connectors::cpid::storage::path at another file',
    )
  }
  if (isUnfinished(applied)) {
    throw new Error(
      `the database ${sqlite.name} is of a development version from before the first release (it has ${applied.join(', ')}), ` +
        'which cannot be gone on from; keep it for that version, and point connectors::cpid::storage::path at another file',
    )
  }
}

/** Kysely closes the database that it is given, but this one belongs to the caller. */
function keptOpen(sqlite: Sqlite): { close(): void; prepare: Sqlite['prepare'] } {
  return { close: () => undefined, prepare: sqlite.prepare.bind(sqlite) }
}

/** Only reads. An empty file counts as an older schema. */
export function schemaState(db: Sqlite): SchemaState {
  const applied = appliedMigrations(db)
  if (unknownMigrations(applied).length > 0) return 'newer'
  return Object.keys(MIGRATIONS).every((name) => applied.includes(name)) ? 'current' : 'older'
}

/** The migrations from before the first release. 001-schema replaces them; it makes the same tables. */
const WAS_SCHEMA = [
  '001-arrivals-and-graph',
  '002-linking',
  '003-audit-views',
  '004-log-forwarding',
  '005-refused-senders',
  '006-counted-cpids',
]
const SCHEMA = '001-schema'

/** The migrations of a file; those from before the first release under their present names. */
function appliedMigrations(db: Sqlite): string[] {
  const stored = storedNames(db)
  return isFromBefore(stored) ? [SCHEMA, ...stored.filter((name) => !WAS_SCHEMA.includes(name))] : stored
}

/** Migrations that this version does not know, from a newer one. */
function unknownMigrations(applied: readonly string[]): string[] {
  return applied.filter((name) => !(name in MIGRATIONS) && !WAS_SCHEMA.includes(name))
}

/** Whether a development version from before the first release made the file, too old to migrate. */
function isUnfinished(applied: readonly string[]): boolean {
  return applied.some((name) => WAS_SCHEMA.includes(name))
}

/** Stores the migrations from before the first release under their present names. Inside a transaction. */
function renameApplied(db: Sqlite): void {
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
