import { ConfigError, describeMistake } from '../config/config-error.ts'
import { CliError, EXIT_FAILED, EXIT_USAGE, messageOf } from './cli-error.ts'
import type { CliIo } from './cli-io.ts'
import { readCommandLine, type CommandLine } from './command-line.ts'
import type { Command } from './commands/command.ts'
import { commandHelp, helpText, optionsOf } from './text/help-text.ts'
import { readVersion } from './version.ts'

/** The commands that there are, by name. */
export type Commands = ReadonlyMap<string, Command>

/**
 * Does what a command line says (without `node` and the script's name) and returns the exit code: 0, or another one
 * after a line on stderr that says what to do; for a configuration, a line for each mistake in it. Never rejects.
 */
export async function runCommand(argv: readonly string[], io: CliIo, commands: Commands): Promise<number> {
  try {
    return await dispatch(readCommandLine(argv), io, commands)
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
  if (line.help === true) {
    const named = line.command === undefined ? undefined : commands.get(line.command)
    io.stdout.write(
      line.command === undefined || named === undefined
        ? helpText(commands)
        : commandHelp(line.command, named),
    )
    return 0
  }
  if (line.version === true) {
    io.stdout.write(`causeway version ${readVersion()}\n`)
    return 0
  }
  const name = line.command ?? 'run'
  const command = commands.get(name)
  if (command === undefined) {
    throw new CliError(
      `unknown command ${JSON.stringify(name)}; causeway --help lists the commands`,
      EXIT_USAGE,
    )
  }
  checkUsage(name, command, line)
  return await command.run(line, io)
}

function checkUsage(name: string, command: Command, { args, given }: CommandLine): void {
  if (args.length < command.leastArgs || args.length > command.mostArgs) {
    throw new CliError(`write causeway ${name} ${command.usage}`.trimEnd(), EXIT_USAGE)
  }
  const options = optionsOf(command.options)
  const stranger = given.find((option) => !options.includes(option))
  if (stranger === undefined) return
  const taken = options.map((option) => `--${option}`).join(', ')
  throw new CliError(`${name} takes no --${stranger}; leave it out (it takes ${taken})`, EXIT_USAGE)
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
