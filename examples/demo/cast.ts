import { fork, type ChildProcess } from 'node:child_process'
import type { ControllerName } from '../../packages/control-plane/controllers/controllers.ts'
import { eachErrorLine, seeOff } from './processes/child.ts'
import type { Cue, Report } from './report.ts'

const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'scheduler',
  'kubelet',
  'endpoints-controller',
] as const satisfies ControllerName[]

export const MEMBERS = [...CONTROLLERS, 'kubectl'] as const

export type Member = (typeof MEMBERS)[number]

interface CastSettings {
  apiServer: string
  /** `host:port` of the OTLP/gRPC receiver. */
  otlp: string
  onReport: (member: Member, report: Report) => void
  /** A line that a process wrote to its standard error. */
  onComplaint: (member: Member, line: string) => void
}

const LONGEST_FLUSH_MS = 20_000

/** The processes of the demo. */
export class Cast implements AsyncDisposable {
  readonly #settings: CastSettings
  readonly #members = new Map<Member, ChildProcess>()
  readonly #ready = new Set<Member>()
  readonly #failed = Promise.withResolvers<never>()

  constructor(settings: CastSettings) {
    this.#settings = settings
    this.#failed.promise.catch(() => undefined)
  }

  /** Rejects when a process fails before the story is over. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  enter(member: Member): void {
    const { apiServer, otlp, onReport, onComplaint } = this.#settings
    const [program, ...args] = member === 'kubectl' ? ['kubectl'] : ['controller', member]
    const child = fork(new URL(`./${program}.ts`, import.meta.url), args, {
      env: { ...withoutTelemetry(process.env), ...telemetry(member, otlp), DEMO_API_SERVER: apiServer },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#members.set(member, child)
    child.on('message', (message) => {
      const report = message as Report
      if (report.kind === 'ready') this.#ready.add(member)
      onReport(member, report)
    })
    child.once('exit', (code, signal) => {
      if (code !== 0)
        this.#failed.reject(new Error(`${member} ended with ${signal ?? `exit code ${code ?? '?'}`}`))
    })
    child.once('error', (error) => this.#failed.reject(error))
    eachErrorLine(child, (line) => onComplaint(member, line))
  }

  cue(member: Member, cue: Cue): void {
    const child = this.#members.get(member)
    // One that has gone away is heard of as failed, or has done its part.
    if (child?.connected === true) child.send(cue, () => undefined)
  }

  /** Tells the processes that the story is over, and resolves when they are gone and all their reports are here. */
  async end(): Promise<void> {
    await Promise.all(
      [...this.#members].map(async ([member, child]) => {
        this.cue(member, 'end')
        // One that is still starting has nothing to send.
        if (!this.#ready.has(member)) child.kill()
        await seeOff(child, LONGEST_FLUSH_MS)
      }),
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end()
  }
}

/** What any program with an OpenTelemetry SDK is told. */
function telemetry(member: Member, otlp: string): Record<string, string> {
  return {
    OTEL_SERVICE_NAME: member,
    OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=demo',
    OTEL_NODE_RESOURCE_DETECTORS: 'env,serviceinstance',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${otlp}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '15000',
    OTEL_METRICS_EXPORTER: 'none',
  }
}

/** Settings made for other programs, and proxies, would send the demo's spans elsewhere. */
function withoutTelemetry(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^OTEL_|^(grpc|https?)_proxy$/i.test(name)),
  )
}
