import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from './free-ports.ts'

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
  linking: Record<string, unknown>
}

export type SettingsChoice = Partial<Pick<CausewaySettings, 'exporters' | 'logExporters' | 'linking'>>

export const CONFIG_FILE = 'otel-config.json'

/** Long enough that nothing gives up waiting and no trace settles while a test runs. */
const PATIENT = { wait: '10m', settle_after: '20m', max_open: '60m' }

/** Settings with a fresh folder and ports of their own; without exporters unless some are given. */
export async function freshSettings({
  exporters = {},
  logExporters = {},
  linking = {},
}: SettingsChoice = {}): Promise<CausewaySettings> {
  const [grpc = 0, http = 0, query = 0, health = 0, metrics = 0] = await freePorts(5)
  const home = mkdtempSync(join(tmpdir(), 'causeway-process-'))
  return {
    home,
    ports: { grpc, http, query, health, metrics },
    database: join(home, 'data', 'causeway.db'),
    exporters,
    logExporters,
    linking: { ...PATIENT, ...linking },
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
  return ['--config', config, '--set', `connectors.cpid.storage.path=${JSON.stringify(settings.database)}`]
}

function configOf({ ports, exporters, logExporters, linking }: CausewaySettings): unknown {
  const at = (port: number): { endpoint: string } => ({ endpoint: `127.0.0.1:${port}` })
  const names = Object.keys(exporters)
  const logNames = Object.keys(logExporters)
  const out = {
    ...(names.length > 0 && { 'traces/out': { receivers: ['cpid'], exporters: names } }),
    ...(logNames.length > 0 && { 'logs/out': { receivers: ['cpid'], exporters: logNames } }),
  }
  const all = { ...exporters, ...logExporters }
  return {
    receivers: { otlp: { protocols: { grpc: at(ports.grpc), http: at(ports.http) } } },
    connectors: { cpid: { linking } },
    ...(Object.keys(all).length > 0 && { exporters: all }),
    extensions: { health_check: at(ports.health), cpid_query: at(ports.query) },
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
        ...out,
      },
    },
  }
}
