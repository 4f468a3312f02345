import { ConfigError, describeMistake } from '../config/config-error.ts'
import { CliError, EXIT_FAILED, EXIT_USAGE, messageOf } from './cli-error.ts'
import type { CliIo } from './cli-io.ts'
import { readCommandLine, UNNAMED, type CommandLine } from './command-line.ts'
import type { Command, Commands } from './commands/command.ts'
import { commandHelp, helpText } from './text/help-text.ts'
import { readVersion } from './version.ts'

/**
 * Does what a command line says (without `node` and the script's name) and returns the exit code: 0, or another one
 * after a line on stderr that says what to do; for a configuration, a line for each mistake in it. Never rejects.
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
    io.stdout.write(`causeway version ${readVersion()}\n`)
    return 0
  }
  if (command === undefined) throw new CliError('write a command; causeway --help lists them', EXIT_USAGE)
  checkArguments(line, command)
  const run = await command.load()
  return await run(line, io)
}

function checkArguments({ command: name = UNNAMED, args }: CommandLine, command: Command): void {
  if (args.length >= command.leastArgs && args.length <= command.mostArgs) return
  throw new CliError(`write causeway ${name} ${command.usage}`.trimEnd(), EXIT_USAGE)
}

function sentenceOf(error: unknown): string {
  if (isBusy(error)) return 'the database is busy; try again in a moment'
  return messageOf(error).replaceAll(/\s*\n\s*/g, ' ')
}

function isBusy(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    String(error.code).startsWith('SQLITE_BUSY')
  )
}
