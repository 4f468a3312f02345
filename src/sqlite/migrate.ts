import { Kysely, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import { MIGRATIONS } from '../../migrations/index.ts'
import { appliedMigrations, isUnfinished, renameApplied, unknownMigrations } from './applied-migrations.ts'
import type { Sqlite } from './open-database.ts'

/** What migrating did: the names of the migrations that ran now. */
export type Migrated = { applied: string[] }

/**
 * Brings the schema up to date; a database that is up to date stays as it is. Throws an Error that says what to do
 * when a migration fails or the file was written by a newer Causeway.
 */
export async function migrate(sqlite: Sqlite): Promise<Migrated> {
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: lent(sqlite) }) })
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

/** Kysely closes the database it is given; this one belongs to the caller. */
function lent(sqlite: Sqlite): { close(): void; prepare: Sqlite['prepare'] } {
  return { close: () => undefined, prepare: sqlite.prepare.bind(sqlite) }
}
