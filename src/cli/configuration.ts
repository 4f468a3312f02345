import { stringify } from 'yaml'
import { COMPONENTS } from '../app/components.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { printConfig as printed } from '../config/print-config.ts'
import { readNamedFile, readNamedFileOrPipe } from '../platform/named-file.ts'
import type { CliIo, CommandLine, Run } from './command-line.ts'
import { readManifest } from './run-command.ts'

const STABILITY = 'Alpha'

/** Loads the configuration of a command line. Throws ConfigError with all its mistakes. */
export function loadCommandConfig(
  { sources, sets }: CommandLine,
  { env, components = COMPONENTS }: CliIo,
  read = readNamedFileOrPipe,
): LoadedConfig {
  const readFile = (path: string): string => read(path).toString('utf8')
  return loadConfig({ sources, sets, env, readFile }, components)
}

export const server: Run = (line, io) => {
  return io.run(loadCommandConfig(line, io), () => loadCommandConfig(line, io, readNamedFile))
}

/** Prints nothing if the configuration is valid. */
export const validate: Run = (line, io) => {
  loadAndWarn(line, io)
  return 0
}

/** Prints the configuration with all defaults and without secrets. */
export const printConfig: Run = (line, io) => {
  const { raw } = loadAndWarn(line, io)
  io.stdout.write(printed(raw, io.components ?? COMPONENTS))
  return 0
}

function loadAndWarn(line: CommandLine, io: CliIo): LoadedConfig {
  const loaded = loadCommandConfig(line, io)
  for (const warning of loaded.warnings) io.stderr.write(`Warning: ${warning}\n`)
  return loaded
}

export const components: Run = (_line, { stdout, components = COMPONENTS }) => {
  const { receivers, processors, exporters, connectors, extensions } = components
  const { name: command, description, version } = readManifest()
  const list = {
    buildinfo: { command, description, version },
    receivers: receivers.map(({ name, signals }) => describe(name, signals)),
    processors: processors.map(({ name }) => describe(name, [])),
    exporters: exporters.map(({ name, signals }) => describe(name, signals)),
    connectors: connectors.map(({ name, pairs }) =>
      describe(
        name,
        pairs.map(({ from, to }) => `${from}-to-${to}`),
      ),
    ),
    extensions: extensions.map(({ name }) => describe(name, ['extension'])),
  }
  stdout.write(stringify(list, { lineWidth: 0, aliasDuplicateObjects: false }))
  return 0
}

function describe(name: string, uses: readonly string[]) {
  return { name, stability: Object.fromEntries(uses.toSorted().map((use) => [use, STABILITY])) }
}
