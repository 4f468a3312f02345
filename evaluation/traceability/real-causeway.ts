import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Recorder } from '../../examples/control-plane/telemetry/recorder.ts'
import { sendRecorded } from '../../examples/control-plane/telemetry/send-recorded.ts'

const BIN = fileURLToPath(new URL('../../bin/causeway.js', import.meta.url))
const LONGEST_START_MS = 30_000
const ASK_AGAIN_MS = 20

/** A Causeway of its own, with an empty database that goes with it. */
export class RealCauseway implements AsyncDisposable {
  readonly #ports: readonly number[]
  readonly #stop: () => Promise<void>

  private constructor(ports: readonly number[], stop: () => Promise<void>) {
    this.#ports = ports
    this.#stop = stop
  }

  static async start(): Promise<RealCauseway> {
    const home = await mkdtemp(join(tmpdir(), 'causeway-evaluation-'))
    const ports = await freePorts(4)
    const config = join(home, 'config.json')
    await writeFile(config, JSON.stringify(configFor(ports, join(home, 'causeway.db'))))
    const child = spawn(process.execPath, [BIN, '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const ended = once(child, 'close')
    const stop = async () => {
      child.kill('SIGTERM')
      await ended
      await rm(home, { recursive: true, force: true })
    }
    const deadline = performance.now() + LONGEST_START_MS
    while (!(await isHealthy(ports[2] ?? 0))) {
      if (child.exitCode === null && performance.now() < deadline) {
        await pause(ASK_AGAIN_MS)
        continue
      }
      await stop()
      throw new Error(`Causeway did not start:\n${said}`)
    }
    return new RealCauseway(ports, stop)
  }

  take(recorder: Recorder): Promise<void> {
    return sendRecorded(recorder, `http://127.0.0.1:${this.#ports[0] ?? 0}`)
  }

  async relatedOf(cpid: string): Promise<Set<string>> {
    const url = `http://127.0.0.1:${this.#ports[1] ?? 0}/api/v1/cpids/${cpid}/related`
    const answer = (await (await fetch(url)).json()) as { related: string[] }
    return new Set(answer.related)
  }

  /** How many mergelogs it refused so far, by reason. */
  async refused(): Promise<Record<string, number>> {
    const text = await (await fetch(`http://127.0.0.1:${this.#ports[3] ?? 0}/metrics`)).text()
    const lines = text.matchAll(/^cpid_mergelogs_refused\{[^}]*reason="([^"]+)"[^}]*\} (\d+)$/gm)
    return Object.fromEntries([...lines].map(([, reason = '', count]) => [reason, Number(count)]))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop()
  }
}

function configFor([http = 0, query = 0, health = 0, metrics = 0]: readonly number[], path: string): unknown {
  const at = (port: number) => ({ endpoint: `127.0.0.1:${port}` })
  const prometheus = { host: '127.0.0.1', port: metrics }
  return {
    receivers: { otlp: { protocols: { http: at(http) } } },
    connectors: { cpid: { storage: { path } } },
    extensions: { health_check: at(health), cpid_query: at(query) },
    service: {
      extensions: ['health_check', 'cpid_query'],
      telemetry: { metrics: { readers: [{ pull: { exporter: { prometheus } } }] } },
      pipelines: {
        'traces/in': { receivers: ['otlp'], exporters: ['cpid'] },
        'logs/in': { receivers: ['otlp'], exporters: ['cpid'] },
      },
    },
  }
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/`)).ok
  } catch {
    return false
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
