import { existsSync } from 'node:fs'
import type { Cpid } from '../model/merge-graph.ts'
import type { Absent, CausewayQueries, SchemaState } from '../model/queries.ts'
import { answer } from '../query/answer.ts'
import type { Question } from '../query/question.ts'
import { openForQuestions, type QuestionsDatabase } from './database-file.ts'
import {
  CliError,
  type CliIo,
  type CommandLine,
  messageOf,
  type TextSink,
  UsageError,
} from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'

/** Runs `ask` with the configured database (no archive); a Causeway may be running on it. Throws CliError if there is none. */
export async function withQueries<T>(
  line: CommandLine,
  io: CliIo,
  ask: (queries: CausewayQueries) => Promise<T> | T,
): Promise<T> {
  if (line.timeout !== undefined)
    throw new UsageError(
      '--timeout is how long an archive may take; name one with --archive, or leave it out',
    )
  return await withDatabase(line, io, (database) => ask(database.queries()))
}

/** Like `withQueries`, with the whole database file. */
export async function withDatabase<T>(
  line: CommandLine,
  io: CliIo,
  ask: (database: QuestionsDatabase) => Promise<T> | T,
): Promise<T> {
  const { path } = loadCommandConfig(line, io).config.cpid.storage
  return await withStore(path, openForQuestions, ask)
}

/** The path of the configured database. Throws CliError unless it exists and can be read. */
export async function readablePath(line: CommandLine, io: CliIo): Promise<string> {
  const { path } = loadCommandConfig(line, io).config.cpid.storage
  await withStore(path, openForQuestions, () => undefined)
  return path
}

interface Checked extends Disposable {
  readonly schema: SchemaState
}

/** Opens an existing database with the schema of this version, and runs `work`. */
export async function withStore<T, Database extends Checked>(
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

/** Checks the schema. A file that is not a database, or a directory that SQLite cannot write, causes an error only at the first query. */
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

/** The facts about a CPID. Throws CliError if nothing is known of it. */
export function requireFound<T>(cpid: Cpid, result: T | Absent): T {
  if (result === 'unknown') throw new CliError(unknownCpidText(cpid, 'unknown'))
  if (result === 'pruned') throw new CliError(unknownCpidText(cpid, 'pruned'))
  return result
}

export function unknownCpidText(cpid: Cpid, why: Absent): string {
  return why === 'unknown'
    ? `no mergelog, span or log has named CPID ${cpid}; check it, and whether its sender reaches Causeway`
    : `CPID ${cpid} was pruned; raise connectors::cpid::retention to keep CPIDs longer`
}

export function inNoCascade(cpid: Cpid): CliError {
  return new CliError(
    `CPID ${cpid} takes part in no cascade yet, since nothing of it has been linked; ` +
      'ask again in a few seconds, or start causeway if none is running',
  )
}

/** Writes the JSON answer that the API gives. */
export function writeJson(to: TextSink, queries: CausewayQueries, question: Question, about?: Cpid): void {
  const answered = answer(queries, question)
  if (answered.kind === 'found') {
    for (const piece of answered.pieces) to.write(piece)
    to.write('\n')
    return
  }
  if (about !== undefined && answered.kind !== 'badCursor') requireFound(about, answered.kind)
  throw new Error(`a question of the command line was refused: ${answered.kind}`)
}
