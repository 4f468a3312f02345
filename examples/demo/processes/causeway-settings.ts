import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPONENTS } from '../../../src/app/components.ts'
import type {
  CausewayConfig,
  ConfiguredListener,
  ExporterConfig,
} from '../../../src/config/causeway-config.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { type Endpoint, formatEndpoint } from '../../../src/config/value-kinds.ts'
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
  listeners: { setting: string; listener: Endpoint }[]
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
  const readFile = (path: string): string => readFileSync(path, 'utf8')
  const { config } = loadConfig({ sources: [source], sets, env: process.env, readFile }, COMPONENTS)
  const listeners = listenersOf(config)
  const health = needed(listeners, 'extensions.health_check')
  const { path } = config.cpid.storage
  return {
    args: ['--config', source, ...sets.flatMap((set) => ['--set', set])],
    storageArgs: ['--config', source, '--set', `connectors.cpid.storage.path=${path}`],
    storagePath: path,
    otlp: formatEndpoint(needed(listeners, 'receivers.otlp.protocols.grpc')),
    query: formatEndpoint(needed(listeners, 'extensions.cpid_query')),
    health: `${formatEndpoint(health)}${health.page?.path ?? ''}`,
    listeners,
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

interface NamedListener {
  setting: string
  listener: Pick<ConfiguredListener, 'host' | 'port' | 'page'>
}

function listenersOf({ receivers, extensions, telemetry: { metrics } }: CausewayConfig): NamedListener[] {
  const listeners = [...receivers, ...extensions].flatMap((component) => component.listeners)
  return [
    ...listeners.map((listener) => ({
      setting: `${listener.path.replaceAll('::', '.')}.endpoint`,
      listener,
    })),
    ...(metrics === undefined ? [] : [{ setting: 'service.telemetry.metrics.readers', listener: metrics }]),
  ]
}

function backendOf({ destinations }: ExporterConfig): string | undefined {
  return destinations.traces?.kind === 'backend' ? destinations.traces.where : undefined
}

function needed(listeners: readonly NamedListener[], component: string): NamedListener['listener'] {
  const found = listeners.find(({ setting }) => setting === `${component}.endpoint`)
  if (found === undefined) throw new Error(`The demo needs ${component}; leave it switched on`)
  if (found.listener.port === 0)
    throw new Error(`The demo needs to know the port; write one in ${component}.endpoint`)
  return found.listener
}
