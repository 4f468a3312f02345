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
import { localCertificate, type LocalCertificate } from './local-certificate.ts'
import { LocalListener } from './local-listener.ts'
import { decoded, NotAllTaken, OtlpEndpoint } from './otlp-endpoint.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import { temporaryKubeconfig, type TemporaryKubeconfig } from './temporary-kubeconfig.ts'
import { orThatOfTerraform, terraformVariables } from './terraform-variables.ts'

/** The options of a command about its change. */
export interface ChangeOptions {
  readonly endpoint: string | undefined
  readonly reason: string | undefined
  /** `k8s.cluster.name`; the context's name unless given. */
  readonly cluster: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints a line for the person who ran the command. */
  readonly complain: (text: string) => void
}

/** A program that may write to a cluster. */
interface TracedProgram {
  /** `helm`, or a path. */
  readonly program: string
  readonly args: readonly string[]
  /** Its arguments without connection options, for use with the temporary kubeconfig. */
  readonly argsWithout: readonly string[]
  readonly connection: Connection
  /** Its `service.name`. */
  readonly service: string
  /** `helm upgrade`: the name of its span, and the default reason. */
  readonly command: string
  /** Its command line with secrets hidden. */
  readonly shown: readonly string[]
  /** Why the change cannot be reported, if it cannot. */
  readonly whyNotTraced?: string | undefined
  /**
   * Any program: its cluster comes from its kubeconfig, not from its arguments. It may not support proxies or not read the kubeconfig, so
   * the kubeconfig has the proxy as the server, and a message says if it never connected.
   */
  readonly isUnknown?: boolean
}

const CLUSTER_IN_ENV = /(?:^|,)\s*k8s\.cluster\.name\s*=([^,]*)/
const LOOPBACK = '127.0.0.1'
/** The kubeconfig of an outer `causeway run`: commands that it runs with this kubeconfig are part of its change. */
const KUBECONFIG_OF_CHANGE = 'CAUSEWAY_KUBECONFIG'

/** Runs a program, and reports its writes as one change; runs it unchanged if that is not possible. */
export async function runAsOneChange(told: TracedProgram, options: ChangeOptions): Promise<ProgramEnd> {
  const { program, args } = told
  if (isWithinChange(options.env)) return await runWithin(told, options)
  // A wrong --endpoint is an error, since it can be typed again; nothing else keeps the program from running.
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

/** Runs a program as part of the change of the outer `causeway run`. */
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

/** Whether the program, run unchanged, would use another cluster than the chosen one. */
function isLedElsewhere({ isUnknown = false, connection }: TracedProgram): boolean {
  return isUnknown && Object.keys(connection).length > 0
}

/** How a program reaches the proxy. */
interface Way extends Disposable {
  readonly listener: LocalListener
  readonly kubeconfig: TemporaryKubeconfig
  readonly token: string
  /** The proxy's certificate, if the proxy is the server of the kubeconfig. */
  readonly tls: LocalCertificate | undefined
}

/** Rejects when the kubeconfig cannot be written or no port is free. */
async function openWay(access: ClusterAccess, { isUnknown = false }: TracedProgram): Promise<Way> {
  const token = randomBytes(24).toString('base64url')
  const tls = isUnknown ? localCertificate(Date.now()) : undefined
  const listener = await LocalListener.open()
  const close = (): void => listener[Symbol.dispose]()
  try {
    const { port } = listener
    const kubeconfig = temporaryKubeconfig(access, { port, token, certificate: tls?.certificate })
    return { listener, kubeconfig, token, tls, [Symbol.dispose]: close }
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
  const { listener, kubeconfig, token, tls } = open
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
      // kubectl caches discovery by host and port, and the port is a new one each time.
      KUBECACHEDIR: env['KUBECACHEDIR'] ?? dirname(kubeconfig.path),
      ...askingItDirectly(env),
    }),
  })
  running.catch(() => undefined)
  // Loaded while the program starts.
  const { CarriedChange } = await import('./carried-change.ts')
  using carried = new CarriedChange(change, {
    ...{ access, endpoint, listener, token, tls },
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
  if (carried.isDistrusted)
    complain(
      `${told.program} trusts other certificates than the one of its kubeconfig, which is of the proxy of causeway run; ` +
        'if an option, a variable or a provider block names an authority, put that into a kubeconfig and give it to causeway run --kubeconfig',
    )
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

/** NO_PROXY with the loopback address: some programs use an HTTP proxy even for this machine. */
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

/** The cluster and the OTLP endpoint, or why the change cannot be reported. */
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
