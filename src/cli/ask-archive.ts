import { type Cpid, parseCpid } from '../model/merge-graph.ts'
import type { CascadesOfCpid } from '../model/queries.ts'
import { DEFAULT_CLIENT_TLS } from '../platform/tls.ts'
import { type ArchiveAddress, ArchiveClient, ArchiveSilent } from '../query/archive/archive-client.ts'
import { ArchiveQuestions } from '../query/archive/archive-questions.ts'
import { inNoCascade, requireFound, withDatabase } from './ask-database.ts'
import { CliError, type CliIo, type CommandLine, timeoutOf, UsageError } from './command-line.ts'
import type { QuestionsDatabase } from './database-file.ts'
import { readManifest } from './run-command.ts'
import { printable } from './text.ts'

const TIMEOUT_MS = 30_000

/** Runs `ask` with the archive of --archive and, if configured, the database, which has what the archive lacks. */
export async function withArchive<T>(
  line: CommandLine,
  io: CliIo,
  ask: (questions: ArchiveQuestions, database: QuestionsDatabase | undefined) => Promise<T>,
): Promise<T> {
  const address = addressOf(line, io)
  await using archive = new ArchiveClient(address, `Causeway/${readManifest().version}`)
  const askBoth = async (database: QuestionsDatabase | undefined): Promise<T> =>
    await ask(
      new ArchiveQuestions({
        ...{ archive, queries: database?.queries(), unarchived: database?.unarchived() },
        nowMs: () => 0,
      }),
      database,
    )
  try {
    return line.sources.length === 0 ? await askBoth(undefined) : await withDatabase(line, io, askBoth)
  } catch (error) {
    if (error instanceof ArchiveSilent) throw new CliError(error.message)
    throw error
  }
}

/** Parses a whole CPID: an archive cannot be searched by its first digits. */
export function wholeCpidOf({ args: [text = ''] }: CommandLine): Cpid {
  const cpid = parseCpid(text)
  if (cpid !== undefined) return cpid
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 64))} is no whole CPID; with --archive write all of its digits`,
  )
}

/** The roots of the cascades of a CPID, first those that drive it. */
export async function takingPart(questions: ArchiveQuestions, cpid: Cpid): Promise<CascadesOfCpid> {
  const { cascades, driving } = requireFound(cpid, await questions.cascadesOf(cpid, {}))
  const roots = [...new Set(cascades.map(({ root }) => root))]
  if (roots.length === 0) throw inNoCascade(cpid)
  const drivenBy = roots.filter((root) => driving.has(root))
  return { cascades: [...drivenBy, ...roots.filter((root) => !driving.has(root))], drivenBy }
}

export function notePartial(io: CliIo, partial: string | undefined): void {
  if (partial !== undefined) io.stderr.write(`Note: ${printable(partial)}\n`)
}

function addressOf(line: CommandLine, { env }: CliIo): ArchiveAddress {
  const url = URL.parse(line.archive ?? '')
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      '--archive must be a URL such as https://auditor@clickhouse.example:8443/causeway; the password is read from CLICKHOUSE_PASSWORD',
    )
  const database = decoded(url.pathname.slice(1)) || 'causeway'
  if (!/^\w+$/.test(database))
    throw new UsageError(
      `--archive names the database ${JSON.stringify(database)}; write letters, digits and underscores behind the port`,
    )
  const password = url.password === '' ? env['CLICKHOUSE_PASSWORD'] : decoded(url.password)
  return {
    ...{ endpoint: url.origin, database, timeoutMs: timeoutOf(line, TIMEOUT_MS) },
    username: decoded(url.username) || (env['CLICKHOUSE_USER'] ?? 'default'),
    ...(password !== undefined && { password }),
    tls: { ...DEFAULT_CLIENT_TLS, insecure: url.protocol === 'http:' },
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new UsageError('--archive has a % that encodes nothing; write %25 for a percent sign')
  }
}
