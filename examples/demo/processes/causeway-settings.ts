import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CausewayConfig, ExporterConfig, Listener } from '../../../src/config/causeway-config.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { formatEndpoint } from '../../../src/config/schema/endpoint.ts'
import type { Options } from '../options.ts'

/** The Causeway that the demo starts. */
export interface CausewaySettings {
  /** What its command line has after the command. */
  args: string[]
  /** The part of that which finds the same database again. */
  storageArgs: string[]
  storagePath: string
  otlp: string
  query: string
  health: string
  /** Everything it listens on. */
  listeners: { setting: string; listener: Listener }[]
  /** Where it sends linked traces. */
  backends: string[]
  /** How long a cascade whose last span has arrived takes to settle. */
  settlingMs: number
}

export const DEMO_DATABASE = './data/demo.db'

/** Works out what Causeway will do with these options. Throws a ConfigError with every mistake in them. */
export function settleCausewaySettings(options: Options): CausewaySettings {
  const source = relative('.', fileURLToPath(new URL('../../../otel-config.yaml', import.meta.url)))
  const sets = [...ourSets(options), ...options.sets]
  const { config } = loadConfig({
    sources: [source],
    sets,
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
  })
  const { path } = config.cpid.storage
  return {
    args: ['--config', source, ...sets.flatMap((set) => ['--set', set])],
    storageArgs: ['--config', source, '--set', `connectors.cpid.storage.path=${path}`],
    storagePath: path,
    otlp: needed(config.receivers[0]?.grpc, 'receivers.otlp.protocols.grpc'),
    query: needed(config.query, 'extensions.cpid_query'),
    health: `${needed(config.healthCheck, 'extensions.health_check')}${config.healthCheck?.path ?? ''}`,
    listeners: listenersOf(config),
    backends: config.exporters.flatMap((exporter) => backendOf(exporter) ?? []),
    settlingMs: config.cpid.linking.settleAfterMs + config.cpid.linking.waitMs,
  }
}

function ourSets({ query, settleAfter, exporterEndpoint }: Options): string[] {
  const sets = [
    `connectors.cpid.storage.path=${DEMO_DATABASE}`,
    `connectors.cpid.linking.settle_after=${settleAfter}`,
    'connectors.cpid.linking.wait=1s',
  ]
  if (query !== undefined) sets.push(`extensions.cpid_query.endpoint=${query}`)
  if (exporterEndpoint !== undefined) {
    sets.push(
      `exporters.otlp_grpc/demo={endpoint: "${exporterEndpoint}", tls: {insecure: true}}`,
      'service.pipelines.traces/demo={receivers: [cpid], exporters: [otlp_grpc/demo]}',
    )
  }
  return sets
}

function listenersOf({ receivers, query, healthCheck, telemetry }: CausewayConfig) {
  const receiver = receivers[0]
  const all = [
    { setting: 'receivers.otlp.protocols.grpc.endpoint', listener: receiver?.grpc },
    { setting: 'receivers.otlp.protocols.http.endpoint', listener: receiver?.http },
    { setting: 'extensions.cpid_query.endpoint', listener: query },
    { setting: 'extensions.health_check.endpoint', listener: healthCheck },
    { setting: 'service.telemetry.metrics.readers', listener: telemetry.metrics },
  ]
  return all.flatMap(({ setting, listener }) => (listener === undefined ? [] : [{ setting, listener }]))
}

function backendOf(exporter: ExporterConfig): string | undefined {
  switch (exporter.kind) {
    case 'otlp_grpc':
      return formatEndpoint(exporter)
    case 'otlp_http':
      return exporter.tracesUrl
    case 'debug':
      return undefined
  }
}

function needed(listener: Listener | undefined, setting: string): string {
  if (listener === undefined) throw new Error(`The demo needs ${setting}; leave it switched on`)
  if (listener.port === 0)
    throw new Error(`The demo needs to know the port; write one in ${setting}.endpoint`)
  return formatEndpoint(listener)
}
