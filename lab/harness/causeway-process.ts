import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from './free-ports.ts'
import type { Options } from '../bench/options.ts'
import { startProcess, type StartedProcess } from './start-process.ts'

/** Its name in the folder it is given. */
export const DATABASE = 'causeway.db'

const STOP_LIMIT_MS = 20_000

/** Which Causeway, and how. */
export type CausewayToStart = Pick<Options, 'causeway' | 'nodeOptions' | 'compression'>

export interface CausewayProcess extends StartedProcess {
  /** Where it takes OTLP over gRPC. */
  endpoint: string
  /** And over HTTP. */
  httpEndpoint: string
  /** Where it answers questions. */
  query: string
  /** Where its metrics are. */
  metrics: string
  /** Its database. */
  path: string
}

/**
 * Starts the real Causeway on the database in `directory`; resolves once it takes spans. Without a sink it has no
 * outgoing pipeline. `settings` are further ones of the configuration, as `--set` takes them.
 */
export async function startCauseway(
  { causeway, nodeOptions, compression }: CausewayToStart,
  directory: string,
  sinkPort?: number,
  settings: readonly string[] = [],
): Promise<CausewayProcess> {
  const [grpc = 0, http = 0, health = 0, query = 0, metrics = 0] = await freePorts(5)
  const path = join(directory, DATABASE)
  const config = join(directory, 'config.yaml')
  const sink = sinkPort === undefined ? undefined : { endpoint: `127.0.0.1:${sinkPort}`, compression }
  writeFileSync(config, JSON.stringify(configuration({ grpc, http, health, query, metrics, sink })))
  const args = ['--config', config, '--set', `connectors.cpid.storage.path=${path}`]
  for (const setting of settings) args.push('--set', setting)
  const started = await startProcess({
    name: 'Causeway',
    program: process.execPath,
    args: [...nodeOptions, causeway, ...args],
    isReady: () => answers(`http://127.0.0.1:${health}/`),
    stopLimitMs: STOP_LIMIT_MS,
  })
  return {
    ...started,
    endpoint: `127.0.0.1:${grpc}`,
    httpEndpoint: `127.0.0.1:${http}`,
    query: `127.0.0.1:${query}`,
    metrics: `127.0.0.1:${metrics}`,
    path,
  }
}

interface Ports {
  grpc: number
  http: number
  health: number
  query: number
  metrics: number
  sink: { endpoint: string; compression: string } | undefined
}

function configuration({ grpc, http, health, query, metrics, sink }: Ports): unknown {
  const at = (port: number): string => `127.0.0.1:${port}`
  return {
    receivers: { otlp: { protocols: { grpc: { endpoint: at(grpc) }, http: { endpoint: at(http) } } } },
    connectors: { cpid: {} },
    ...(sink !== undefined && { exporters: { 'otlp_grpc/sink': { ...sink, tls: { insecure: true } } } }),
    extensions: { health_check: { endpoint: at(health) }, cpid_query: { endpoint: at(query) } },
    service: {
      extensions: ['health_check', 'cpid_query'],
      telemetry: {
        logs: { level: 'warn' },
        metrics: { readers: [{ pull: { exporter: { prometheus: { host: '127.0.0.1', port: metrics } } } }] },
      },
      pipelines: {
        'traces/in': { receivers: ['otlp'], exporters: ['cpid'] },
        'logs/in': { receivers: ['otlp'], exporters: ['cpid'] },
        ...(sink !== undefined && { 'traces/out': { receivers: ['cpid'], exporters: ['otlp_grpc/sink'] } }),
      },
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
