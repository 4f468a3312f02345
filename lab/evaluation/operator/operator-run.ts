import { Agent } from 'node:https'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../harness/eventually.ts'
import type { Cluster } from '../../harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { RunningProgram } from '../../harness/processes/running-program.ts'
import { usageOf, watchCpu } from '../../bench/measure/process-usage.ts'

export interface OperatorRun {
  /** From the first request until the last WebApp says that it is ready. */
  readyMs: number
  /** CPU of the operator's process from then on, until its telemetry is sent too. */
  cpuMs: number
  /** Its resident memory at the end, in MiB. */
  mib: number
  /** Cores that everything else on the machine used until all were ready, cluster and Causeway too. */
  othersCores: number
}

interface StageSettings {
  cluster: Cluster
  /** The operators, with what they need. */
  folder: string
  /** Where the instrumented one sends to. */
  endpoint: string
}

interface WebApp {
  metadata: { name: string; generation: number }
  status?: { observedGeneration?: number; readyReplicas?: number }
}

const WEB_APPS = '/apis/example.com/v1/namespaces/default/webapps'
const DEFAULT = 'namespaces/default'
/** What is gone before the next run. */
const CLEARED = [
  `${WEB_APPS}?limit=1`,
  `/apis/apps/v1/${DEFAULT}/deployments?limit=1`,
  `/api/v1/${DEFAULT}/services?limit=1&labelSelector=app`,
  `/api/v1/${DEFAULT}/pods?limit=1`,
]
const CONNECTIONS = 16
const LONGEST_MS = 240_000
/** Longer than batches of telemetry wait. */
const TAIL_MS = 6_500

/** A cluster with the resource of the operators, which run one after the other. */
export class OperatorStage {
  readonly #settings: StageSettings
  readonly #api: KubeApi

  private constructor(settings: StageSettings) {
    this.#settings = settings
    this.#api = settings.cluster.api('admin', new Agent({ keepAlive: true, maxSockets: CONNECTIONS }))
  }

  static async open(settings: StageSettings): Promise<OperatorStage> {
    const { cluster, folder } = settings
    await cluster.kubectl('admin', 'apply', '--filename', join(folder, 'web-app.yaml'))
    const stage = new OperatorStage(settings)
    await eventually(() => stage.#api.get(WEB_APPS), LONGEST_MS)
    return stage
  }

  /** Makes so many WebApps at once, waits until they are ready, and clears up. */
  async run(isTraced: boolean, webApps: number): Promise<OperatorRun> {
    await using operator = this.#start(isTraced ? 'web-app-instrumented.ts' : 'web-app-plain.ts')
    // Connections stand and code is warm once it has made one.
    await this.#api.create(WEB_APPS, webApp('early'))
    await this.#ready(['early'])
    const names = Array.from({ length: webApps }, (_, at) => `web-${at}`)
    const used = watchCpu(operator.pid)
    const startedMs = performance.now()
    const ready = this.#ready(names)
    await Promise.all(names.map((name) => this.#api.create(WEB_APPS, webApp(name))))
    await ready
    const readyMs = performance.now() - startedMs
    const { seconds, machineSeconds } = used()
    await delay(TAIL_MS)
    const cpuMs = used().seconds * 1_000
    const mib = usageOf(operator.pid)?.rssMib ?? Number.NaN
    await operator.stop(LONGEST_MS)
    await this.#clear()
    return { readyMs, cpuMs, mib, othersCores: (1_000 * (machineSeconds - seconds)) / readyMs }
  }

  #start(program: string): RunningProgram {
    const { cluster, folder, endpoint } = this.#settings
    return new RunningProgram({
      name: program,
      command: process.execPath,
      args: ['--no-warnings', join(folder, program)],
      directory: folder,
      env: {
        ...process.env,
        KUBECONFIG: cluster.kubeconfig(),
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_METRICS_EXPORTER: 'none',
      },
    })
  }

  async #ready(names: readonly string[]): Promise<void> {
    const waited = new Set(names)
    const over = new AbortController()
    const late = setTimeout(() => over.abort(), LONGEST_MS)
    const watching = this.#api.watch(
      `${WEB_APPS}?watch=true`,
      ({ object }) => {
        const { metadata, status } = object as WebApp
        const isReady = status?.observedGeneration === metadata.generation && status.readyReplicas === 1
        if (isReady && waited.delete(metadata.name) && waited.size === 0) over.abort()
      },
      over.signal,
    )
    await watching.catch(() => undefined)
    clearTimeout(late)
    if (waited.size > 0) throw new Error(`${waited.size} of ${names.length} WebApps were not ready in time`)
  }

  async #clear(): Promise<void> {
    await this.#api.delete(WEB_APPS)
    await eventually(async () => {
      for (const path of CLEARED) {
        const { items } = await this.#api.get<{ items: unknown[] }>(path)
        if (items.length > 0) throw new Error(`something is left of ${path}`)
      }
    }, LONGEST_MS)
  }
}

function webApp(name: string): object {
  const metadata = { name }
  return { apiVersion: 'example.com/v1', kind: 'WebApp', metadata, spec: { image: 'nginx:1', replicas: 1 } }
}
