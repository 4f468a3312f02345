import type { CliIo } from './cli-io.ts'
import type { CommandLine, OptionName } from './command-line.ts'

/** One thing that causeway does. */
export interface Command {
  /** Its arguments, as the help shows them. */
  usage: string
  summary: string
  /** The options it takes beside --config and --set. */
  options: readonly OptionName[]
  leastArgs: number
  mostArgs: number
  /** Does it and returns the exit code. Throws CliError or ConfigError. */
  run: (line: CommandLine, io: CliIo) => Promise<number> | number
}
