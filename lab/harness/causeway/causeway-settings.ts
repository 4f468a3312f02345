import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'

export interface CausewayPorts {
  grpc: number
  http: number
  query: number
  health: number
  metrics: number
}

/** What a Causeway is started with, and started with again. */
export interface CausewaySettings {
  /** A folder of its own; its path stands in the arguments of every process started for it. */
  home: string
  ports: CausewayPorts
  database: string
  /** By id, as in the configuration. */
  exporters: Record<string, unknown>
  /** Those of logs/out, by id; one of the others is named with its settings again. */
  logExporters: Record<string, unknown>
  /** Those of metrics/out, likewise. */
  metricExporters: Record<string, unknown>
  /** Those that metrics which come in are sent on to, likewise; absent, none are taken. */
  forwardedMetrics?: Record<string, unknown>
  /** What else is set of the connector. */
  connector: Record<string, unknown>
  linking: Record<string, unknown>
  /** Of cpid_query, beside its endpoint. */
  query: Record<string, unknown>
  /** Laid over the configuration. */
  patch?: Record<string, unknown>
}

export type SettingsChoice = Partial<
  Pick<
    CausewaySettings,
    'exporters' | 'logExporters' | 'metricExporters' | 'forwardedMetrics' | 'connector' | 'linking' | 'query'
  >
>

export const CONFIG_FILE = 'otel-config.json'

/** Long enough that nothing gives up waiting and no trace settles while a test runs. */
const PATIENT = { wait: '10m', settle_after: '20m', max_open: '60m' }

/** Settings with a fresh folder and ports of their own; without exporters unless some are given. */
export async function freshSettings({
  exporters = {},
  logExporters = {},
  metricExporters = {},
  connector = {},
  linking = {},
  query: queryOptions = {},
  forwardedMetrics,
}: SettingsChoice = {}): Promise<CausewaySettings> {
  const [grpc = 0, http = 0, query = 0, health = 0, metrics = 0] = await freePorts(5)
  const home = mkdtempSync(join(tmpdir(), 'causeway-process-'))
  return {
    home,
    ports: { grpc, http, query, health, metrics },
    database: join(home, 'data', 'causeway.db'),
    exporters,
    logExporters,
    metricExporters,
    connector,
    linking: { ...PATIENT, ...linking },
    query: queryOptions,
    ...(forwardedMetrics && { forwardedMetrics }),
  }
}

/** An exporter over gRPC to this machine that tries again soon. */
export function exporterTo(port: number, others: Record<string, unknown> = {}): unknown {
  return {
    endpoint: `127.0.0.1:${port}`,
    tls: { insecure: true },
    retry_on_failure: { initial_interval: '50ms', max_interval: '200ms' },
    ...others,
  }
}

/** Writes the configuration and returns the arguments that name it. */
export function argumentsFor(settings: CausewaySettings): string[] {
  const config = join(settings.home, CONFIG_FILE)
  writeFileSync(config, JSON.stringify(configOf(settings), null, 2))
  const patch = settings.patch === undefined ? [] : ['--config', `yaml:${JSON.stringify(settings.patch)}`]
  const on = extensionsOf(settings)
  return [
    '--config',
    config,
    ...patch,
    ...on,
    '--set',
    `connectors.cpid.storage.path=${JSON.stringify(settings.database)}`,
  ]
}

/** A list replaces the one before it, so that extensions of a patch have to be listed with the others. */
function extensionsOf({ patch }: CausewaySettings): string[] {
  const more = Object.keys(patch?.['extensions'] ?? {})
  return more.length === 0
    ? []
    : ['--set', `service.extensions=${JSON.stringify(['health_check', 'cpid_query', ...more])}`]
}

function configOf(settings: CausewaySettings): unknown {
  const { ports, exporters, logExporters, metricExporters, forwardedMetrics, connector, linking, query } =
    settings
  const at = (port: number): { endpoint: string } => ({ endpoint: `127.0.0.1:${port}` })
  const out = { traces: exporters, logs: logExporters, metrics: metricExporters }
  const outgoing = Object.entries(out).flatMap(([signal, some]) =>
    Object.keys(some).length === 0
      ? []
      : [[`${signal}/out`, { receivers: ['cpid'], exporters: Object.keys(some) }]],
  )
  const all = { ...exporters, ...logExporters, ...metricExporters, ...forwardedMetrics }
  return {
    receivers: { otlp: { protocols: { grpc: at(ports.grpc), http: at(ports.http) } } },
    connectors: { cpid: { linking, ...connector } },
    ...(Object.keys(all).length > 0 && { exporters: all }),
    extensions: { health_check: at(ports.health), cpid_query: { ...at(ports.query), ...query } },
    service: {
      extensions: ['health_check', 'cpid_query'],
      telemetry: {
        metrics: {
          readers: [{ pull: { exporter: { prometheus: { host: '127.0.0.1', port: ports.metrics } } } }],
        },
      },
      pipelines: {
        'traces/in': { receivers: ['otlp'], exporters: ['cpid'] },
        'logs/in': { receivers: ['otlp'], exporters: ['cpid'] },
        ...(forwardedMetrics && {
          'metrics/in': { receivers: ['otlp'], exporters: ['cpid', ...Object.keys(forwardedMetrics)] },
        }),
        ...(Object.fromEntries(outgoing) as object),
      },
    },
  }
}
