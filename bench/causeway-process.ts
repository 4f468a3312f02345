import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from './at-exit.ts'
import { freePorts } from './free-ports.ts'
import type { Options } from './options.ts'

/** Its name in the folder it is given. */
export const DATABASE = 'causeway.db'

const LONGEST_START_MS = 30_000
const ASK_AGAIN_MS = 25
const STOP_LIMIT_MS = 20_000

/** Which Causeway, and how. */
export type CausewayToStart = Pick<Options, 'causeway' | 'nodeOptions' | 'compression'>

export interface CausewayProcess {
  pid: number
  /** Where it takes OTLP over gRPC. */
  endpoint: string
  /** And over HTTP. */
  httpEndpoint: string
  /** Where it answers questions. */
  query: string
  /** Its database. */
  path: string
  /** Ends it as an operator would; resolves once the process is gone. */
  stop: () => Promise<void>
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
  const child = spawn(process.execPath, [...nodeOptions, causeway, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4_000)))
  const ended = once(child, 'exit')
  const lastResort = atExit(() => void child.kill('SIGKILL'))

  const deadline = performance.now() + LONGEST_START_MS
  while (!(await answers(`http://127.0.0.1:${health}/`))) {
    if (child.exitCode !== null || child.pid === undefined) throw new Error(`Causeway did not start:\n${log}`)
    if (performance.now() > deadline) throw new Error(`Causeway is not ready after 30 s:\n${log}`)
    await sleep(ASK_AGAIN_MS)
  }
  return {
    pid: child.pid ?? 0,
    endpoint: `127.0.0.1:${grpc}`,
    httpEndpoint: `127.0.0.1:${http}`,
    query: `127.0.0.1:${query}`,
    path,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await ended
      clearTimeout(timer)
      lastResort[Symbol.dispose]()
    },
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
