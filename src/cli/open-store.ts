import { existsSync, readFileSync } from 'node:fs'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { openForReading, openForWriting, type Sqlite } from '../sqlite/open-database.ts'
import { SqliteQueries } from '../sqlite/readers/sqlite-queries.ts'
import { schemaState } from '../sqlite/schema-state.ts'
import { CliError, messageOf } from './cli-error.ts'
import type { CliIo } from './cli-io.ts'
import type { CommandLine } from './command-line.ts'

/** The configuration that a command line names. Throws ConfigError with every mistake in it. */
export function configOf({ sources, sets }: CommandLine, { env }: CliIo): LoadedConfig {
  return loadConfig({ sources, sets, env, readFile: (path) => readFileSync(path, 'utf8') })
}

/** Asks the configured database, whether or not a Causeway runs on it. Throws CliError when there is none. */
export async function withQueries<T>(
  line: CommandLine,
  io: CliIo,
  ask: (queries: SqliteQueries) => Promise<T> | T,
): Promise<T> {
  const { path } = configOf(line, io).config.cpid.storage
  return await withStore(path, openForReading, (db) => ask(new SqliteQueries(db)))
}

/** The path of the configured database, which is there and can be asked. Throws CliError when it is not. */
export async function readablePath(line: CommandLine, io: CliIo): Promise<string> {
  const { path } = configOf(line, io).config.cpid.storage
  await withStore(path, openForReading, () => undefined)
  return path
}

/** Works on a database that is there and has the schema of this Causeway. */
export async function withWritableStore<T>(path: string, work: (db: Sqlite) => Promise<T> | T): Promise<T> {
  return await withStore(path, openForWriting, work)
}

async function withStore<T>(
  path: string,
  open: (path: string) => Sqlite,
  work: (db: Sqlite) => Promise<T> | T,
): Promise<T> {
  if (!existsSync(path)) {
    throw new CliError(
      `there is no database at ${path} yet; start causeway, or correct connectors::cpid::storage::path`,
    )
  }
  const db = open(path)
  try {
    readableSchema(db, path)
    return await work(db)
  } finally {
    db.close()
  }
}

/** A file that is no database, or one beside which SQLite cannot make its own files, shows only at the first question. */
function readableSchema(db: Sqlite, path: string): void {
  try {
    checkSchema(db, path)
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(
      `cannot read the database ${path}: ${messageOf(error)}; ` +
        'check that it is one and that you may write in its folder, or correct connectors::cpid::storage::path',
    )
  }
}

function checkSchema(db: Sqlite, path: string): void {
  switch (schemaState(db)) {
    case 'current':
      return
    case 'older':
      throw new CliError(`the database ${path} is not up to date; run causeway migrate, or start causeway`)
    case 'newer':
      throw new CliError(
        `the database ${path} was written by a newer Causeway; use that version, ` +
          'or correct connectors::cpid::storage::path',
      )
  }
}
