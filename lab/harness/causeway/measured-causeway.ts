import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'
import { startProcess, type StartedProcess } from '../processes/start-process.ts'
import { BIN } from './causeway-process.ts'
import { argumentsFor, type CausewaySettings } from './causeway-settings.ts'
import { isHealthy } from './health-answer.ts'

/** Its name in the folder it is given. */
export const DATABASE = 'causeway.db'

const STOP_LIMIT_MS = 20_000

/** Which Causeway, and how. */
export interface CausewayToStart {
  /** The script that starts it, so that another checkout can be measured. */
  causeway: string
  /** Node options of its process. */
  nodeOptions: readonly string[]
  /** What its exporter does with its requests. */
  compression: 'gzip' | 'none'
}

/** The Causeway of this checkout, as the bench measures it. */
export const OWN_CAUSEWAY: CausewayToStart = { causeway: BIN, nodeOptions: [], compression: 'gzip' }

export interface MeasuredCauseway extends StartedProcess {
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
 * outgoing pipeline. `sets` are further settings of the configuration, as `--set` takes them.
 */
export async function startMeasuredCauseway(
  { causeway, nodeOptions, compression }: CausewayToStart,
  directory: string,
  sinkPort?: number,
  sets: readonly string[] = [],
): Promise<MeasuredCauseway> {
  const [grpc = 0, http = 0, health = 0, query = 0, metrics = 0] = await freePorts(5)
  const sink = { endpoint: `127.0.0.1:${sinkPort}`, compression, tls: { insecure: true } }
  const settings: CausewaySettings = {
    home: directory,
    ports: { grpc, http, query, health, metrics },
    database: join(directory, DATABASE),
    exporters: sinkPort === undefined ? {} : { 'otlp_grpc/sink': sink },
    logExporters: {},
    metricExporters: {},
    connector: {},
    linking: {},
    query: {},
  }
  const given = ['service.telemetry.logs.level=warn', ...sets].flatMap((set) => ['--set', set])
  const started = await startProcess({
    name: 'Causeway',
    command: process.execPath,
    args: [...nodeOptions, causeway, ...argumentsFor(settings), ...given],
    isReady: () => isHealthy(settings),
    stopLimitMs: STOP_LIMIT_MS,
  })
  return {
    ...started,
    endpoint: `127.0.0.1:${grpc}`,
    httpEndpoint: `127.0.0.1:${http}`,
    query: `127.0.0.1:${query}`,
    metrics: `127.0.0.1:${metrics}`,
    path: settings.database,
  }
}
