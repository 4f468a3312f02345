import { COMPONENTS } from '../app/components.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { readNamedFile } from '../trust/read-named-file.ts'
import type { CliIo } from './cli-io.ts'
import type { CommandLine } from './command-line.ts'

/** The configuration that a command line names. Throws ConfigError with every mistake in it. */
export function configOf(
  { sources, sets }: CommandLine,
  { env, components = COMPONENTS }: CliIo,
): LoadedConfig {
  const readFile = (path: string): string => readNamedFile(path).toString('utf8')
  return loadConfig({ sources, sets, env, readFile }, components)
}
