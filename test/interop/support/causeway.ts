import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { ScrapedMetrics } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import type { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { openForReading, type Sqlite } from '../../../src/store/sqlite/open-database.ts'
import type { Scene } from './scene.ts'

interface CausewaySettings {
  /** Where linked traces go: settings by exporter id. */
  readonly exporters: Readonly<Record<string, object>>
  /** The file of its database; one of its own in the directory of the scene unless given. */
  readonly database?: string
  /** What else is set, by dotted path. */
  readonly set?: Readonly<Record<string, unknown>>
}

const CONFIG = fileURLToPath(new URL('../../../otel-config.yaml', import.meta.url))
const SOON = { initial_interval: '100ms', max_interval: '500ms' }

/** An exporter over gRPC without TLS that tries again soon, but does not send twice what a slow machine is busy taking. */
export function grpcExporter(endpoint: string): object {
  return { endpoint, tls: { insecure: true }, timeout: '30s', retry_on_failure: SOON }
}

/** A real Causeway with a database of its own; it can be ended and started again. */
export class Causeway {
  /** `host:port` of its OTLP receivers. */
  readonly otlpGrpc: string
  readonly otlpHttp: string
  /** `host:port` of its API. */
  readonly query: string
  readonly #scene: Scene
  readonly #args: readonly string[]
  readonly #ports: { health: number; metrics: number }
  readonly database: string
  #program: RunningProgram | undefined

  private constructor(scene: Scene, settings: CausewaySettings, ports: number[]) {
    const [grpc = 0, http = 0, health = 0, metrics = 0, query = 0] = ports
    this.otlpGrpc = `127.0.0.1:${grpc}`
    this.otlpHttp = `127.0.0.1:${http}`
    this.query = `127.0.0.1:${query}`
    this.#scene = scene
    this.#ports = { health, metrics }
    this.database = settings.database ?? join(scene.directory, `causeway-${grpc}.db`)
    const set: Record<string, unknown> = {
      'receivers.otlp.protocols.grpc.endpoint': this.otlpGrpc,
      'receivers.otlp.protocols.http.endpoint': this.otlpHttp,
      'extensions.health_check.endpoint': `127.0.0.1:${health}`,
      'extensions.cpid_query.endpoint': this.query,
      'service.telemetry.metrics.readers': [
        { pull: { exporter: { prometheus: { host: '127.0.0.1', port: metrics } } } },
      ],
      'connectors.cpid.storage.path': this.database,
      // Long enough for a slow machine, since a story must not settle before it is over.
      'connectors.cpid.linking.wait': '10s',
      'connectors.cpid.linking.settle_after': '15s',
      // However busy this machine is, no watch is further behind the others.
      'connectors.cpid.inference.window': '3s',
      'service.pipelines.traces/out.exporters': Object.keys(settings.exporters),
      ...Object.fromEntries(
        Object.entries(settings.exporters).map(([id, value]) => [`exporters.${id}`, value]),
      ),
      ...settings.set,
    }
    const sets = Object.entries(set).flatMap(([path, value]) => ['--set', `${path}=${JSON.stringify(value)}`])
    this.#args = ['--config', CONFIG, ...sets]
  }

  static async start(scene: Scene, settings: CausewaySettings): Promise<Causeway> {
    const causeway = new Causeway(scene, settings, await freePorts(5))
    await causeway.startAgain()
    return causeway
  }

  /** Resolves once it takes spans. */
  async startAgain(): Promise<void> {
    const program = this.#scene.start({
      name: 'causeway',
      command: process.execPath,
      args: [BIN, ...this.#args],
    })
    this.#program = program
    await this.#scene.eventually(async () => {
      if (program.hasEnded) return
      const { status } = await fetch(`http://127.0.0.1:${this.#ports.health}/`)
      if (status !== 200) throw new Error(`health_check answers ${status}`)
    })
    if (program.hasEnded) throw new Error(program.lastWords())
  }

  /** Asks it to end; returns its exit code. */
  async stop(): Promise<number | null> {
    return (await this.#program?.stop()) ?? null
  }

  async kill(): Promise<void> {
    await this.#program?.kill()
  }

  /** Whether it logged this since it was started last. */
  said(text: string): boolean {
    return this.#program?.said(text) ?? false
  }

  metrics(): Promise<ScrapedMetrics> {
    return ScrapedMetrics.from(this.#ports.metrics)
  }

  /** Asks its database, as an auditor would. */
  stored<Row>(sql: string): Row[] {
    using db = closing(openForReading(this.database))
    return db.handle.prepare<[], Row>(sql).all()
  }
}

function closing(handle: Sqlite) {
  return { handle, [Symbol.dispose]: () => void handle.close() }
}
