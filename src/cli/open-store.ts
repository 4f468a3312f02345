import { existsSync } from 'node:fs'
import { askDatabase, changeDatabase, type ChangedDatabase } from '../app/database/database-file.ts'
import type { CausewayQueries } from '../model/ports/query-port.ts'
import type { SchemaState } from '../model/ports/setup-port.ts'
import { CliError, messageOf } from './cli-error.ts'
import type { CliIo } from './cli-io.ts'
import type { CommandLine } from './command-line.ts'
import { configOf } from './config-of.ts'

/** Asks the configured database, whether or not a Causeway runs on it. Throws CliError when there is none. */
export async function withQueries<T>(
  line: CommandLine,
  io: CliIo,
  ask: (queries: CausewayQueries) => Promise<T> | T,
): Promise<T> {
  const { path } = configOf(line, io).config.cpid.storage
  return await withStore(path, askDatabase, (database) => ask(database.queries()))
}

/** The path of the configured database, which is there and can be asked. Throws CliError when it is not. */
export async function readablePath(line: CommandLine, io: CliIo): Promise<string> {
  const { path } = configOf(line, io).config.cpid.storage
  await withStore(path, askDatabase, () => undefined)
  return path
}

/** Works on a database that is there and has the schema of this Causeway. */
export async function withWritableStore<T>(
  path: string,
  work: (database: ChangedDatabase) => Promise<T> | T,
): Promise<T> {
  return await withStore(path, changeDatabase, work)
}

interface Checked extends Disposable {
  readonly schema: SchemaState
}

async function withStore<T, Database extends Checked>(
  path: string,
  open: (path: string) => Database,
  work: (database: Database) => Promise<T> | T,
): Promise<T> {
  if (!existsSync(path)) {
    throw new CliError(
      `there is no database at ${path} yet; start causeway, or correct connectors::cpid::storage::path`,
    )
  }
  using database = open(path)
  readableSchema(database, path)
  return await work(database)
}

/** A file that is no database, or one beside which SQLite cannot make its own files, shows only at the first question. */
function readableSchema(database: Checked, path: string): void {
  try {
    checkSchema(database, path)
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(
      `cannot read the database ${path}: ${messageOf(error)}; ` +
        'check that it is one and that you may write in its folder, or correct connectors::cpid::storage::path',
    )
  }
}

function checkSchema({ schema }: Checked, path: string): void {
  switch (schema) {
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
