import type { CliIo } from '../cli-io.ts'
import type { CommandLine } from '../command-line.ts'
import type { OptionName } from '../options.ts'

/** One thing that causeway does. */
export interface Command {
  /** Its arguments, as the help shows them. */
  usage: string
  summary: string
  /** What its own help says beside that. */
  help?: string
  /** The options it takes beside --config and --set. */
  options: readonly OptionName[]
  leastArgs: number
  mostArgs: number
  /** Does it and returns the exit code. Throws CliError or ConfigError. */
  run: (line: CommandLine, io: CliIo) => Promise<number> | number
}
