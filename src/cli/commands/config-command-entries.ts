import type { CliIo } from '../cli-io.ts'
import type { Command } from './command.ts'
import type { CommandLine } from '../command-line.ts'
import { runComponents, runPrintConfig, runValidate, type ConfigCommand } from './config-commands.ts'
import { configOf } from '../open-store.ts'

const NO_ARGUMENTS = { usage: '', options: [], leastArgs: 0, mostArgs: 0 } as const

export const RUN: Command = {
  ...NO_ARGUMENTS,
  summary: 'run Causeway; what causeway does without a command',
  run: (line, io) => {
    const read = () => configOf(line, io)
    return io.run(read(), read)
  },
}

export const VALIDATE: Command = {
  ...NO_ARGUMENTS,
  summary: 'check the configuration',
  run: (line, io) => runValidate(withIo(line, io)),
}

export const PRINT_CONFIG: Command = {
  ...NO_ARGUMENTS,
  summary: 'print the configuration with every default written out and secrets blacked out',
  run: (line, io) => runPrintConfig(withIo(line, io)),
}

export const COMPONENTS: Command = {
  ...NO_ARGUMENTS,
  summary: 'print what Causeway is made of',
  run: (_line, io) => runComponents(io),
}

function withIo({ sources, sets }: CommandLine, { env, stdout, stderr, components }: CliIo): ConfigCommand {
  return { sources, sets, env, stdout, stderr, ...(components && { components }) }
}
