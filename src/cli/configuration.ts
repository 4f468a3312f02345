import { COMPONENTS } from '../app/components.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { readNamedFile } from '../platform/followed-files.ts'
import type { CliIo, CommandLine, Run } from './command-line.ts'
import { type ConfigCommand, runComponents, runPrintConfig, runValidate } from './config-commands.ts'

/** The configuration that a command line names. Throws ConfigError with every mistake in it. */
export function loadCommandConfig(
  { sources, sets }: CommandLine,
  { env, components = COMPONENTS }: CliIo,
): LoadedConfig {
  const readFile = (path: string): string => readNamedFile(path).toString('utf8')
  return loadConfig({ sources, sets, env, readFile }, components)
}

export const server: Run = (line, io) => {
  const read = () => loadCommandConfig(line, io)
  return io.run(read(), read)
}

export const validate: Run = (line, io) => runValidate(withIo(line, io))

export const printConfig: Run = (line, io) => runPrintConfig(withIo(line, io))

export const components: Run = (_line, io) => runComponents(io)

function withIo({ sources, sets }: CommandLine, { env, stdout, stderr, components }: CliIo): ConfigCommand {
  return { sources, sets, env, stdout, stderr, ...(components && { components }) }
}
