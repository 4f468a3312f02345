import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { COMPONENTS, type Components } from '../app/components.ts'
import { loadConfig, type LoadedConfig } from '../config/load-config.ts'
import { printConfig } from '../config/print-config.ts'
import { ConfigError, describeMistake } from '../config/schema.ts'
import { readNamedFile } from '../platform/followed-files.ts'

export interface TextSink {
  write(text: string): unknown
}

/** What a command about the configuration is given: the values of --config and --set, and where to write. */
export interface ConfigCommand {
  sources: readonly string[]
  sets: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  stdout: TextSink
  stderr: TextSink
  /** The types of component that there are; those of Causeway unless given. */
  components?: Components
}

const STABILITY = 'Alpha'

/** Says nothing when the configuration is right; otherwise one line for every mistake. Returns the exit code. */
export function runValidate(command: ConfigCommand): number {
  return loadOrReport(command) === undefined ? 1 : 0
}

/** Prints the configuration with every default written out and secrets blacked out. Returns the exit code. */
export function runPrintConfig(command: ConfigCommand): number {
  const loaded = loadOrReport(command)
  if (loaded === undefined) return 1
  command.stdout.write(printConfig(loaded.raw, command.components ?? COMPONENTS))
  return 0
}

/** Prints what Causeway is made of. Returns the exit code. */
export function runComponents({
  stdout,
  components = COMPONENTS,
}: Pick<ConfigCommand, 'stdout' | 'components'>): number {
  const { receivers, processors, exporters, connectors, extensions } = components
  const list = {
    buildinfo: readBuildInfo(),
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

function loadOrReport({
  sources,
  sets,
  env,
  stderr,
  components = COMPONENTS,
}: ConfigCommand): LoadedConfig | undefined {
  try {
    const readFile = (path: string): string => readNamedFile(path).toString('utf8')
    const loaded = loadConfig({ sources, sets, env, readFile }, components)
    for (const warning of loaded.warnings) stderr.write(`Warning: ${warning}\n`)
    return loaded
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const mistake of error.mistakes) stderr.write(`Error: ${describeMistake(mistake)}\n`)
    return undefined
  }
}

function readBuildInfo() {
  const path = new URL('../../package.json', import.meta.url)
  const { name, description, version } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>
  return { command: name, description, version }
}
