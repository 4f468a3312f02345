import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'
import { errorText } from '../../src/model/faults.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { chosenAccess } from './chosen-access.ts'
import type { Connection } from './kubectl-arguments.ts'
import { type KubectlChange, traceparentOf } from './kubectl-change.ts'
import { LocalListener } from './local-listener.ts'
import { decoded, NotAllTaken, OtlpEndpoint } from './otlp-endpoint.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import { temporaryKubeconfig, type TemporaryKubeconfig } from './temporary-kubeconfig.ts'
import { orThatOfTerraform, terraformVariables } from './terraform-variables.ts'

/** What whoever types a command may say of its change. */
export interface ChangeOptions {
  readonly endpoint: string | undefined
  readonly reason: string | undefined
  /** `k8s.cluster.name`; the context's name unless given. */
  readonly cluster: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Says a line to whoever ran it. */
  readonly complain: (text: string) => void
}

/** A program that may write to a cluster. */
interface TracedProgram {
  /** `helm`, or a path. */
  readonly program: string
  readonly args: readonly string[]
  /** Its arguments where a kubeconfig says how to connect. */
  readonly argsWithout: readonly string[]
  readonly connection: Connection
  /** Its `service.name`. */
  readonly service: string
  /** `helm upgrade`: the name of its span, and the reason where none is given. */
  readonly command: string
  /** Its command line as everybody may read it. */
  readonly shown: readonly string[]
  /** Why it cannot be told, if it cannot. */
  readonly whyNotTraced?: string | undefined
  /**
   * Any program: only its kubeconfig leads it to a cluster, not its arguments. Whether it knows proxies, or reads the kubeconfig at all, nobody
   * knows: it is given the proxy as the server, and a line says if it never connected.
   */
  readonly isUnknown?: boolean
}

const CLUSTER_IN_ENV = /(?:^|,)\s*k8s\.cluster\.name\s*=([^,]*)/
const LOOPBACK = '127.0.0.1'
/** The kubeconfig of a program whose writes are a change already: what it runs with that is part of it. */
const KUBECONFIG_OF_CHANGE = 'CAUSEWAY_KUBECONFIG'

/** Runs a program, and tells what it writes as one change; the program as it is where that cannot be told. */
export async function runAsOneChange(told: TracedProgram, options: ChangeOptions): Promise<ProgramEnd> {
  const { program, args } = told
  if (isWithinChange(options.env)) return await runWithin(told, options)
  // What was typed for this command alone can be typed again; the program waits for nothing else.
  if (options.endpoint !== undefined) new OtlpEndpoint(options.endpoint, options.env)
  const asIs = async (why: string): Promise<ProgramEnd> => {
    if (isLedElsewhere(told)) throw new Error(`nothing was run: ${why}; correct --kubeconfig or --context`)
    options.complain(`this change is not reported to Causeway: ${why}`)
    return await runProgram(program, args, options.env)
  }
  const [access, endpoint] = whereTo(told, options)
  if (access === undefined) return await asIs(endpoint)
  const way = await openWay(access, told).catch(errorText)
  return typeof way === 'string'
    ? await asIs(way)
    : await runThrough(told, options, { access, endpoint, way })
}

function isWithinChange({ KUBECONFIG, [KUBECONFIG_OF_CHANGE]: ofChange }: ChangeOptions['env']): boolean {
  return ofChange !== undefined && ofChange === KUBECONFIG && existsSync(ofChange)
}

/** As part of the change of whoever runs this. */
async function runWithin(told: TracedProgram, { env, complain, ...own }: ChangeOptions): Promise<ProgramEnd> {
  if (isLedElsewhere(told))
    throw new Error(
      'nothing was run: causeway run has chosen a cluster already, and what it runs works with that; give --kubeconfig and --context to the outer one',
    )
  const given = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : `--${name}`))
  if (given.length > 0)
    complain(`${given.join(', ')} has no effect here: this is part of the change of the outer causeway run`)
  return await runProgram(told.program, told.args, env)
}

/** Run as it is, it would work with another cluster than was chosen for it. */
function isLedElsewhere({ isUnknown = false, connection }: TracedProgram): boolean {
  return isUnknown && Object.keys(connection).length > 0
}

/** The way of a program to the proxy. */
interface Way extends Disposable {
  readonly listener: LocalListener
  readonly kubeconfig: TemporaryKubeconfig
  readonly token: string
}

/** Throws where there is no place for a file, or no port. */
async function openWay(access: ClusterAccess, { isUnknown = false }: TracedProgram): Promise<Way> {
  const token = randomBytes(24).toString('base64url')
  const listener = await LocalListener.open()
  const close = (): void => listener[Symbol.dispose]()
  try {
    const kubeconfig = temporaryKubeconfig(access, { port: listener.port, token, isServer: isUnknown })
    return { listener, kubeconfig, token, [Symbol.dispose]: close }
  } catch (error) {
    close()
    throw error
  }
}

interface Through {
  readonly access: ClusterAccess
  readonly endpoint: OtlpEndpoint
  readonly way: Way
}

async function runThrough(
  told: TracedProgram,
  options: ChangeOptions,
  { access, endpoint, way }: Through,
): Promise<ProgramEnd> {
  using open = way
  const { listener, kubeconfig, token } = open
  const { env, complain, reason = told.command } = options
  const [, inEnv = ''] = CLUSTER_IN_ENV.exec(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '') ?? []
  const cluster = options.cluster ?? (decoded(inEnv.trim()) || access.name)
  const change = newChange(reason)
  const remove = (): void => kubeconfig[Symbol.dispose]()
  process.once('exit', remove)
  const running = runProgram(told.program, told.argsWithout, {
    ...env,
    ...{ KUBECONFIG: kubeconfig.path, [KUBECONFIG_OF_CHANGE]: kubeconfig.path },
    TRACEPARENT: traceparentOf(change),
    ...(told.isUnknown === true && {
      ...terraformVariables(env, connectionOf(told, options), {
        path: kubeconfig.path,
        context: access.name,
      }),
      // What is remembered of a server goes by its port, which is another each time.
      KUBECACHEDIR: env['KUBECACHEDIR'] ?? dirname(kubeconfig.path),
      ...askingItDirectly(env),
    }),
  })
  running.catch(() => undefined)
  // Meanwhile the program starts, on another core.
  const { CarriedChange } = await import('./carried-change.ts')
  using carried = new CarriedChange(change, {
    ...{ access, endpoint, listener, token },
    by: { service: told.service, cluster },
  })
  const end = await running.finally(remove)
  const { command, shown } = told
  try {
    await carried.tell({ command, args: shown, exitCode: end.exitCode, endNs: nanosOfMs(Date.now()) })
  } catch (error) {
    const advice =
      error instanceof NotAllTaken
        ? ''
        : `; see that Causeway takes OTLP over HTTP at ${endpoint.address}, or name another --endpoint`
    complain(`change ${change.cpid} was made, but not reported to Causeway: ${errorText(error)}${advice}`)
  }
  const unnamed = change.writes - change.wrote.length
  if (unnamed > 0)
    complain(`${unnamed} of ${change.writes} versions are not named in the span of the command`)
  if (told.isUnknown === true && !listener.wasUsed && end.exitCode !== 0)
    complain(
      `${told.program} ended with code ${end.exitCode} before it asked the API server of the kubeconfig in KUBECONFIG and KUBE_CONFIG_PATHS; ` +
        'no change is reported',
    )
  else if (told.isUnknown === true && !listener.wasUsed)
    complain(
      `${told.program} did not use the kubeconfig in KUBECONFIG and KUBE_CONFIG_PATHS, so what it wrote is not reported as one change; ` +
        'if an option, KUBE_CONFIG_PATH, KUBE_CTX or a provider block names another cluster, give that to causeway run --kubeconfig and --context instead',
    )
  process.off('exit', remove)
  return end
}

/** Some programs ask a proxy of the environment for what is on this machine too. */
function askingItDirectly(env: ChangeOptions['env']): Record<string, string> {
  const { HTTP_PROXY, http_proxy, HTTPS_PROXY, https_proxy, ALL_PROXY, all_proxy, NO_PROXY, no_proxy } = env
  const isProxied = [HTTP_PROXY, http_proxy, HTTPS_PROXY, https_proxy, ALL_PROXY, all_proxy].some(Boolean)
  const withIt = (own: string): string =>
    own.trim() === '*' ? own : [own, LOOPBACK].filter(Boolean).join(',')
  if (!isProxied) return {}
  return { NO_PROXY: withIt(NO_PROXY || no_proxy || ''), no_proxy: withIt(no_proxy || NO_PROXY || '') }
}

function newChange(reason: string): KubectlChange {
  return {
    cpid: randomUUID() as Cpid,
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    startNs: nanosOfMs(Date.now()),
    reason,
    wrote: [],
    writes: 0,
    written: new Set(),
    marks: 0,
    merges: new Map(),
  }
}

function connectionOf({ connection, isUnknown = false }: TracedProgram, { env }: ChangeOptions): Connection {
  return isUnknown ? orThatOfTerraform(connection, env) : connection
}

/** The cluster, and where it is told; or why not. */
function whereTo(
  told: TracedProgram,
  options: ChangeOptions,
): [ClusterAccess, OtlpEndpoint] | [undefined, string] {
  const { endpoint, env } = options
  if (told.whyNotTraced !== undefined) return [undefined, told.whyNotTraced]
  try {
    return [chosenAccess(connectionOf(told, options), env), new OtlpEndpoint(endpoint, env)]
  } catch (error) {
    return [undefined, errorText(error)]
  }
}
