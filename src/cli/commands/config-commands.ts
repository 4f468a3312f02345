import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { CONNECTORS, EXPORTERS, EXTENSIONS, PROCESSORS, RECEIVERS } from '../../config/components/catalog.ts'
import { CPID_PAIRS } from '../../config/check/check-connectors.ts'
import { ConfigError, describeMistake } from '../../config/config-error.ts'
import { loadConfig, type LoadedConfig } from '../../config/load-config.ts'
import { printConfig } from '../../config/print-config.ts'
import { readNamedFile } from '../../trust/read-named-file.ts'

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
  command.stdout.write(printConfig(loaded.raw))
  return 0
}

/** Prints what Causeway is made of. Returns the exit code. */
export function runComponents({ stdout }: Pick<ConfigCommand, 'stdout'>): number {
  const bothSignals = { logs: STABILITY, traces: STABILITY }
  const sentSignals = { logs: STABILITY, metrics: STABILITY, traces: STABILITY }
  const pairs = Object.fromEntries(CPID_PAIRS.map(({ from, to }) => [`${from}-to-${to}`, STABILITY]))
  stdout.write(
    stringify(
      {
        buildinfo: readBuildInfo(),
        receivers: describeTypes(RECEIVERS.types, bothSignals),
        processors: describeTypes(PROCESSORS.types, bothSignals),
        exporters: describeTypes(EXPORTERS.types, sentSignals),
        connectors: describeTypes(CONNECTORS.types, pairs),
        extensions: describeTypes(EXTENSIONS.types, { extension: STABILITY }),
      },
      { lineWidth: 0, aliasDuplicateObjects: false },
    ),
  )
  return 0
}

function loadOrReport({ sources, sets, env, stderr }: ConfigCommand): LoadedConfig | undefined {
  try {
    const loaded = loadConfig({
      sources,
      sets,
      env,
      readFile: (path) => readNamedFile(path).toString('utf8'),
    })
    for (const warning of loaded.warnings) stderr.write(`Warning: ${warning}\n`)
    return loaded
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const mistake of error.mistakes) stderr.write(`Error: ${describeMistake(mistake)}\n`)
    return undefined
  }
}

function describeTypes(types: ReadonlyMap<string, unknown>, stability: Record<string, string>) {
  return [...types.keys()].map((name) => ({ name, stability }))
}

function readBuildInfo() {
  const path = new URL('../../../package.json', import.meta.url)
  const { name, description, version } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>
  return { command: name, description, version }
}
