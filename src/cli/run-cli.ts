import type { CliIo } from './cli-io.ts'
import { COMMANDS } from './commands/commands.ts'
import { runCommand } from './run-command.ts'

/** `runCommand` with every command that there is. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  return await runCommand(argv, io, COMMANDS)
}
