import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterAccess } from '../cluster/cluster-access.ts'
import type { Cpid } from '../model/cpid.ts'
import { errorText } from '../model/error-text.ts'
import { nanosOfMs } from '../model/clock.ts'
import { chosenAccess } from './chosen-access.ts'
import type { KubectlChange } from './kubectl-change.ts'
import { mayWrite, readKubectlArguments, type KubectlArguments } from './kubectl-arguments.ts'
import { LocalListener } from './local-listener.ts'
import { OtlpEndpoint } from './otlp-endpoint.ts'
import { runProgram, type ProgramEnd } from './run-program.ts'
import { temporaryKubeconfig, type TemporaryKubeconfig } from './temporary-kubeconfig.ts'

export interface KubectlRun {
  readonly args: readonly string[]
  readonly endpoint: string | undefined
  readonly reason: string | undefined
  /** `k8s.cluster.name`; the context's name unless given. */
  readonly cluster: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Says a line to whoever ran it. */
  readonly complain: (text: string) => void
}

const KUBECTL = 'kubectl'
/** After kubectl has ended nobody waits longer. */
const LONGEST_TELLING_MS = 900
const CLUSTER_IN_ENV = /(?:^|,)\s*k8s\.cluster\.name=([^,]*)/
/** What was set for this program alone. */
const OURS = ['CAUSEWAY_PARENT', 'CAUSEWAY_LAUNCHER', 'NODE_COMPILE_CACHE']

/**
 * Runs kubectl, and tells what it wrote as one change. Whatever keeps the change from being told, kubectl does its work. Rejects with a
 * ProgramMissing where there is no kubectl.
 */
export async function runKubectl(run: KubectlRun): Promise<ProgramEnd> {
  const read = readKubectlArguments(run.args)
  if (!mayWrite(read.verb)) return await runProgram(KUBECTL, run.args, childEnv(run.env))
  // What was typed for this command alone can be typed again; kubectl waits for nothing else.
  if (run.endpoint !== undefined) new OtlpEndpoint(run.endpoint, run.env)
  const [access, endpoint] = whereTo(read, run)
  if (access === undefined) return await runUntold(run, endpoint)
  const way = await openWay(access).catch(errorText)
  if (typeof way === 'string') return await runUntold(run, way)
  return await runTold(run, read, { access, endpoint, way })
}

async function runUntold(run: KubectlRun, why: string): Promise<ProgramEnd> {
  run.complain(`this change is not told: ${why}`)
  return await runProgram(KUBECTL, run.args, childEnv(run.env))
}

/** The way of kubectl to the proxy. */
interface Way extends Disposable {
  readonly listener: LocalListener
  readonly kubeconfig: TemporaryKubeconfig
  readonly token: string
}

/** Throws where there is no place for a file, or no port. */
async function openWay(access: ClusterAccess): Promise<Way> {
  const token = randomBytes(24).toString('base64url')
  const listener = await LocalListener.open()
  const close = (): void => listener[Symbol.dispose]()
  try {
    const kubeconfig = temporaryKubeconfig(access, { port: listener.port, token })
    return { listener, kubeconfig, token, [Symbol.dispose]: close }
  } catch (error) {
    close()
    throw error
  }
}

interface Told {
  readonly access: ClusterAccess
  readonly endpoint: OtlpEndpoint
  readonly way: Way
}

async function runTold(
  run: KubectlRun,
  { verb, others }: KubectlArguments,
  { access, endpoint, way }: Told,
): Promise<ProgramEnd> {
  using open = way
  const { listener, kubeconfig, token } = open
  const cluster =
    run.cluster ?? CLUSTER_IN_ENV.exec(run.env['OTEL_RESOURCE_ATTRIBUTES'] ?? '')?.[1] ?? access.name
  const change = newChange(run.reason ?? `kubectl ${verb}`)
  const over = new AbortController()
  let begun: Promise<unknown> | undefined
  const remove = (): void => kubeconfig[Symbol.dispose]()
  process.once('exit', remove)
  const running = runProgram(KUBECTL, others, { ...childEnv(run.env), KUBECONFIG: kubeconfig.path })
  running.catch(() => undefined)
  // Meanwhile kubectl starts, on another core.
  const { ApiServer } = await import('../cluster/api-server.ts')
  using api = new ApiServer(access)
  api.connect()
  const { ChangeProxy } = await import('./change-proxy.ts')
  const { mergelogRequest, spanRequest } = await import('./told-change.ts')
  const proxy = new ChangeProxy(api, change, token, () => {
    // It goes again with the span: that it did not arrive now does not matter.
    begun ??= endpoint.send('logs', mergelogRequest(change, cluster), over.signal).catch(() => undefined)
  })
  listener.takeBy((socket) => proxy.serve(socket))
  const { publicArguments } = await import('./public-arguments.ts')
  const end = await running.finally(remove)
  if (change.wrote.length > 0) {
    const told = {
      verb,
      args: publicArguments(run.args),
      exitCode: end.exitCode,
      endNs: nanosOfMs(Date.now()),
    }
    const span = endpoint.send('traces', spanRequest(change, cluster, told), over.signal)
    const late = delay(LONGEST_TELLING_MS, undefined, { signal: over.signal }).then(() => {
      throw new Error(`it has not answered within ${LONGEST_TELLING_MS} ms`)
    })
    try {
      await Promise.race([span, late])
    } catch (error) {
      run.complain(
        `change ${change.cpid} was made, but not told: ${errorText(error)}; ` +
          `see that Causeway takes OTLP over HTTP at ${endpoint.address}, or name another --endpoint`,
      )
    }
    late.catch(() => undefined)
    span.catch(() => undefined)
  }
  over.abort()
  process.off('exit', remove)
  return end
}

function newChange(reason: string): KubectlChange {
  return {
    cpid: randomUUID() as Cpid,
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    startNs: nanosOfMs(Date.now()),
    reason,
    wrote: [],
  }
}

/** The cluster, and where it is told; or why not. */
function whereTo(
  read: KubectlArguments,
  { endpoint, env }: KubectlRun,
): [ClusterAccess, OtlpEndpoint] | [undefined, string] {
  if (isAttached(read)) return [undefined, 'a terminal is not carried; create it first, then attach to it']
  try {
    return [chosenAccess(read.connection, env), new OtlpEndpoint(endpoint, env)]
  } catch (error) {
    return [undefined, errorText(error)]
  }
}

/** A terminal that is carried both ways goes past a proxy of requests. */
function isAttached({ verb, others }: KubectlArguments): boolean {
  const attaching = /^(?:-[a-z]*[it][a-z]*|--(?:stdin|tty|attach)(?:=true)?)$/
  const end = others.indexOf('--')
  const own = end === -1 ? others : others.slice(0, end)
  return verb === 'debug' || (verb === 'run' && own.some((arg) => attaching.test(arg)))
}

function childEnv(env: KubectlRun['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.includes(name)))
}
