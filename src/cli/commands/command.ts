import type { CliIo } from '../cli-io.ts'
import type { CommandLine } from '../command-line.ts'
import type { OptionName } from '../options.ts'

/** The commands that there are, by name. */
export type Commands = ReadonlyMap<string, Command>

/** One thing that causeway does. */
export interface Command {
  /** Its arguments, as the help shows them. */
  usage: string
  summary: string
  /** What its own help says beside that. */
  help?: string
  /** The options it takes beside those about the configuration, --config and --set. */
  options: readonly OptionName[]
  /** Whether it needs no --config, is a configuration by itself, or has none; it needs one unless given. */
  config?: 'optional' | 'itself' | 'none'
  /** Whether what stands behind -- is for another program. */
  passesOn?: boolean
  /** What options mean to it, where that is not what they mean to others. */
  meanings?: Readonly<Partial<Record<OptionName, string>>>
  leastArgs: number
  mostArgs: number
  /** What runs, which is loaded for this command alone. */
  load: () => Promise<Run>
}

/** Does what a command line says and returns the exit code. Throws CliError or ConfigError. */
export type Run = (line: CommandLine, io: CliIo) => Promise<number> | number
