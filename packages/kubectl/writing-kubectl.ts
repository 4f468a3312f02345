import { randomBytes, randomUUID } from 'node:crypto'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'
import { errorText } from '../../src/model/faults.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { chosenAccess } from './chosen-access.ts'
import type { KubectlArguments } from './kubectl-arguments.ts'
import type { KubectlChange } from './kubectl-change.ts'
import { LocalListener } from './local-listener.ts'
import { OtlpEndpoint } from './otlp-endpoint.ts'
import type { KubectlRun } from './run-kubectl.ts'
import { type ProgramEnd, runKubectlAsIs } from './run-program.ts'
import { temporaryKubeconfig, type TemporaryKubeconfig } from './temporary-kubeconfig.ts'

const CLUSTER_IN_ENV = /(?:^|,)\s*k8s\.cluster\.name=([^,]*)/

/** Runs a kubectl that may write, and tells what it wrote as one change; kubectl as it is where that cannot be told. */
export async function runWriting(run: KubectlRun, read: KubectlArguments): Promise<ProgramEnd> {
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
  return await runKubectlAsIs(run.args, run.env)
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
  const remove = (): void => kubeconfig[Symbol.dispose]()
  process.once('exit', remove)
  const running = runKubectlAsIs(others, { ...run.env, KUBECONFIG: kubeconfig.path })
  running.catch(() => undefined)
  // Meanwhile kubectl starts, on another core.
  const { CarriedChange } = await import('./carried-change.ts')
  using carried = new CarriedChange(change, { access, endpoint, cluster, listener, token })
  const end = await running.finally(remove)
  try {
    await carried.tell({ verb, exitCode: end.exitCode, endNs: nanosOfMs(Date.now()) }, run.args)
  } catch (error) {
    run.complain(
      `change ${change.cpid} was made, but not told: ${errorText(error)}; ` +
        `see that Causeway takes OTLP over HTTP at ${endpoint.address}, or name another --endpoint`,
    )
  }
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
    merges: new Map(),
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
