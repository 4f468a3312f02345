import type { CliIo } from '../cli-io.ts'
import type { Run } from './command.ts'
import type { CommandLine } from '../command-line.ts'
import { runComponents, runPrintConfig, runValidate, type ConfigCommand } from './config-commands.ts'
import { configOf } from '../config-of.ts'

export const server: Run = (line, io) => {
  const read = () => configOf(line, io)
  return io.run(read(), read)
}

export const validate: Run = (line, io) => runValidate(withIo(line, io))

export const printConfig: Run = (line, io) => runPrintConfig(withIo(line, io))

export const components: Run = (_line, io) => runComponents(io)

function withIo({ sources, sets }: CommandLine, { env, stdout, stderr, components }: CliIo): ConfigCommand {
  return { sources, sets, env, stdout, stderr, ...(components && { components }) }
}
