import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ConfigError, describeMistake } from '../config/schema.ts'
import {
  CliError,
  type CliIo,
  type Command,
  type CommandLine,
  type Commands,
  EXIT_FAILED,
  messageOf,
  optionsOf,
  readCommandLine,
  UNNAMED,
  UsageError,
  writtenOption,
} from './command-line.ts'
import { type OptionName, OPTIONS } from './options.ts'
import { CONTROLS, plainJson } from '../model/untrusted-names.ts'

/**
 * Runs a command line (without `node` and the script) and resolves to the exit code. If it fails, stderr says what to do, with one line per
 * mistake of a configuration. Never rejects.
 */
export async function runCommand(argv: readonly string[], io: CliIo, commands: Commands): Promise<number> {
  try {
    return await dispatch(readCommandLine(argv, commands), io, commands)
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const mistake of error.mistakes) io.stderr.write(`Error: ${describeMistake(mistake)}\n`)
      return EXIT_FAILED
    }
    io.stderr.write(`Error: ${sentenceOf(error)}\n`)
    return error instanceof CliError ? error.exitCode : EXIT_FAILED
  }
}

async function dispatch(line: CommandLine, io: CliIo, commands: Commands): Promise<number> {
  if (!mayServe(line)) io.endsAtHangUp?.()
  const command = commands.get(line.command ?? UNNAMED)
  if (line.help === true) {
    const text =
      line.command === undefined || command === undefined
        ? helpText(commands)
        : commandHelp(line.command, command)
    io.stdout.write(text)
    return 0
  }
  if (line.version === true) {
    const { version, gitHead } = readManifest()
    io.stdout.write(versionLine(version, gitHead))
    return 0
  }
  if (command === undefined) throw new UsageError('write a command; causeway --help lists them')
  checkArguments(line, command)
  const run = await command.load()
  return await run(line, line.format === 'json' ? { ...io, stdout: plainSink(io.stdout) } : io)
}

function plainSink(sink: CliIo['stdout']): CliIo['stdout'] {
  return { write: (text) => sink.write(plainJson(text)) }
}

function mayServe({ command = UNNAMED, args }: CommandLine): boolean {
  return command === 'observe' || (command === UNNAMED && args.length === 0)
}

function checkArguments({ command: name = UNNAMED, args }: CommandLine, command: Command): void {
  const { usage = '', leastArgs = 0, mostArgs = leastArgs } = command
  if (args.length >= leastArgs && args.length <= mostArgs) return
  throw new UsageError(`write causeway ${name} ${usage}`.trimEnd())
}

function sentenceOf(error: unknown): string {
  if (isBusy(error)) return 'the database is busy; try again in a moment'
  return messageOf(error)
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll(CONTROLS, '\ufffd')
}

function isBusy(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    String(error.code).startsWith('SQLITE_BUSY')
  )
}

/** Options for which the help does not list the commands. */
const WIDESPREAD: readonly OptionName[] = ['config', 'set', 'format', 'help', 'version']
const HELP = ['help [<command>]', 'print this help, or the help of a command'] as const

/** The output of `causeway --help`. */
export function helpText(commands: ReadonlyMap<string, Command>): string {
  const named = [...commands].map(
    ([name, { usage = '', summary }]) => [`${name} ${usage}`.trimEnd(), summary] as const,
  )
  return `Causeway shows a cascading Kubernetes change as one trace.

Usage: causeway [<command>] --config <file> [options]

Commands:
${listed([...named, HELP])}

Options:
${listed((Object.keys(OPTIONS) as OptionName[]).map((name) => [writtenOption(name), `${takersOf(name, commands)}${OPTIONS[name].meaning}`]))}

causeway <command> --help, or causeway help <command>, says more. A command that fails exits with a code other than 0, and writes to stderr what to do.
`
}

/** The output of `causeway <command> --help`. */
export function commandHelp(name: string, command: Command): string {
  const { usage = '', summary, help, config, meanings, passesOn } = command
  const own = optionsOf(command).map(
    (option) => [writtenOption(option), meanings?.[option] ?? OPTIONS[option].meaning] as const,
  )
  const file = config === undefined ? ' --config <file>' : config === 'optional' ? ' [--config <file>]' : ''
  // Arguments after -- come last, since they are not options of Causeway.
  const all = `${file} [options]`
  const form = passesOn === true ? `${all} ${usage}` : `${` ${usage}`.trimEnd()}${all}`
  return `causeway ${name}: ${summary}

Usage: causeway ${name}${form}
${help === undefined ? '' : `\n${help.trim()}\n`}${own.length === 0 ? '' : `\nOptions:\n${listed(own)}\n`}`
}

function takersOf(name: OptionName, commands: ReadonlyMap<string, Command>): string {
  if (WIDESPREAD.includes(name)) return ''
  const takers = [...commands].filter(([, { options }]) => options.includes(name)).map(([command]) => command)
  return `${takers.join(', ')}: `
}

function listed(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

interface Manifest {
  name: string
  description: string
  version: string
  /** The commit from which it was packed. */
  gitHead?: string
}

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest
}

const ROOT = new URL('../../', import.meta.url)

/** The output of `causeway --version`: version, commit if known, and schema of the database. */
function versionLine(version: string, gitHead?: string): string {
  const commit = gitHead ?? checkedOut()
  const details = [
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 12)}`]),
    `schema ${newestSchema()}`,
  ]
  return `causeway version ${version} (${details.join(', ')})\n`
}

/** The name of the newest migration. */
function newestSchema(): string {
  const names = readdirSync(new URL('migrations/', ROOT)).filter((name) => /^\d{3}-/.test(name))
  return (
    names
      .sort()
      .at(-1)
      ?.replace(/\.[jt]s$/, '') ?? 'unknown'
  )
}

function checkedOut(): string | undefined {
  if (!existsSync(new URL('.git', ROOT))) return undefined
  const { stdout, status } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: fileURLToPath(ROOT),
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : undefined
}
