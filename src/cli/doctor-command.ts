import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { COMPONENTS, type Components } from '../app/components.ts'
import { faultsOfFiles } from '../app/faults-of-files.ts'
import { listenerLimits } from '../app/listener-limits.ts'
import { authenticatorsOf } from '../app/start-sending.ts'
import type { CausewayConfig, ConfiguredListener, ExporterConfig } from '../config/causeway-config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { ConfigError, describeMistake } from '../config/schema.ts'
import { type Endpoint, formatEndpoint } from '../config/value-kinds.ts'
import { openOnce } from '../exporter/open-transport.ts'
import { ownValue } from '../model/untrusted-names.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { SendOutcome } from '../model/outbox.ts'
import { openFilesLimit } from '../platform/open-files.ts'
import { systemClock } from '../platform/system-clock.ts'
import { isDatabaseLocked } from '../store/sqlite/open-database.ts'
import { openForQuestions } from './database-file.ts'
import {
  CliError,
  type CliIo,
  type CommandLine,
  messageOf,
  type Run,
  timeoutOf,
  wantsJson,
} from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { checkDatabase, checkExporters, checkSenders, checkSetAside } from './doctor-database.ts'
import { checkReceivers, fail, type Finding, type FindingState, ok, warn } from './doctor-finding.ts'
import { readManifest } from './run-command.ts'
import { count, printable, terminalOf } from './text.ts'

const DEFAULT_TIMEOUT_MS = 30_000
const CHECK_WIDTH = 15
const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const

export const runDoctor: Run = async (line, io) => {
  const json = wantsJson(line)
  const findings: Finding[] = []
  for await (const finding of examine(line, io)) {
    findings.push(finding)
    if (!json) io.stdout.write(textOf(finding, io))
  }
  const failed = countOf(findings, 'fail')
  if (json) io.stdout.write(`${JSON.stringify({ state: worst(findings), findings })}\n`)
  else {
    const summary = [
      `${countOf(findings, 'ok')} ok`,
      count(countOf(findings, 'warn'), 'warning'),
      `${failed} failed`,
    ]
    io.stdout.write(`\n${summary.join(', ')}\n`)
  }
  if (failed > 0)
    throw new CliError(`${count(failed, 'check')} failed; do what each line says, then run doctor again`)
  return 0
}

async function* examine(line: CommandLine, io: CliIo): AsyncGenerator<Finding> {
  const timeoutMs = timeoutOf(line, DEFAULT_TIMEOUT_MS)
  const loaded = load(line, io)
  if (Array.isArray(loaded)) {
    yield* loaded
    return
  }
  const { config, warnings } = loaded
  yield ok('configuration', 'is right')
  for (const warning of warnings) yield warn('configuration', warning, 'see docs/reference/configuration.md')
  const { storage, retention, linking } = config.cpid
  const { isRunning, finding } = checkRunning(storage.path)
  yield finding
  yield checkOpenFiles(config)
  yield* checkFiles(config, io.components ?? COMPONENTS)
  yield* checkPorts(config, isRunning)
  yield* checkDatabase(storage.path, retention, timeoutMs)
  yield* checkBackends(config, io.components ?? COMPONENTS)
  yield* checkReceivers(config, io.components ?? COMPONENTS)
  if (!isReadable(storage.path)) return
  using database = openForQuestions(storage.path)
  try {
    const facts = database.senders()
    yield* checkExporters(facts, isRunning)
    yield checkSetAside(database.setAside())
    const isSentTo = config.receivers.some(({ listeners }) => listeners.length > 0)
    yield* checkSenders(facts, { nowMs: systemClock.wallMs(), waitMs: linking.waitMs, isSentTo })
  } catch (error) {
    yield fail(
      'senders',
      `what has arrived cannot be read: ${messageOf(error)}`,
      'do what the lines database and integrity say, then run doctor again',
    )
  }
}

function load(line: CommandLine, io: CliIo): LoadedConfig | Finding[] {
  try {
    return loadCommandConfig(line, io)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes.map((mistake) =>
      fail('configuration', describeMistake(mistake), 'correct it; causeway validate checks again'),
    )
  }
}

function isReadable(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    using database = openForQuestions(path)
    return database.schema === 'current'
  } catch {
    return false
  }
}

function textOf({ state, check, message, advice }: Finding, io: CliIo): string {
  const { paint } = terminalOf(io)
  const first = `${paint(COLOURS[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${message}\n`
  const margin = ' '.repeat(4 + 2 + CHECK_WIDTH + 2)
  return advice === undefined ? first : `${first}${margin}→ ${advice.replaceAll('\n', `\n${margin}  `)}\n`
}

function countOf(findings: readonly Finding[], state: FindingState): number {
  return findings.filter((finding) => finding.state === state).length
}

function worst(findings: readonly Finding[]): FindingState {
  if (countOf(findings, 'fail') > 0) return 'fail'
  return countOf(findings, 'warn') > 0 ? 'warn' : 'ok'
}

const CHECK = 'backends'
const LONGEST_SEND_MS = 5_000
const EMPTY_REQUEST = Buffer.alloc(0)

type Ask = (exporter: ExporterConfig, signal: Signal) => Promise<SendOutcome>

/** Checks with an empty request whether each backend accepts the signals that pipelines send to it. */
async function* checkBackends(config: CausewayConfig, components: Components): AsyncGenerator<Finding> {
  const { outTraces, outLogs, outMetrics, forwardedMetrics } = config.pipelines
  if (outTraces.length === 0) {
    yield warn(
      CHECK,
      'no pipeline sends traces on: Causeway only stores and answers',
      'add an exporter to a traces pipeline that receives from cpid, if a Jaeger or Tempo is to show them',
    )
  }
  const ask = asking(config, components)
  for (const [signal, ids] of [
    ['traces', outTraces],
    ['logs', outLogs],
    ['metrics', [...new Set([...outMetrics, ...forwardedMetrics])]],
  ] as const) {
    for (const exporter of config.exporters)
      if (ids.includes(exporter.id)) yield await checkBackend(exporter, signal, ask)
  }
}

async function checkBackend(exporter: ExporterConfig, signal: Signal, ask: Ask): Promise<Finding> {
  const { id, destinations } = exporter
  const destination = destinations[signal]
  if (destination?.kind !== 'backend') return ok(CHECK, `${id} ${destination?.does ?? 'is not used'}`)
  const { host, port, where } = destination
  const how = `${destination.speaks}${signal === 'traces' ? '' : ` ${signal}`}`
  const advice = `start it, or correct exporters::${id}::endpoint; what is not sent waits in the database`
  const error = await connectionError(host, port)
  if (error !== undefined) {
    const why = error === 'ECONNREFUSED' ? 'nothing listens there' : error
    return fail(CHECK, `${id} cannot be reached at ${where}: ${why}`, advice)
  }
  const outcome = await ask(exporter, signal)
  if (outcome.kind === 'delivered') return ok(CHECK, `${id} answers ${how} at ${where}`)
  return fail(
    CHECK,
    `${id} at ${where} does not take ${how}: ${printable(outcome.reason)}`,
    `check that ${how} is what it speaks there, and endpoint, tls, auth and headers of exporters::${id}`,
  )
}

function asking(config: CausewayConfig, components: Components): Ask {
  const hooks = {
    components,
    userAgent: `Causeway/${readManifest().version}`,
    authenticators: authenticatorsOf(config, components),
    longestMs: LONGEST_SEND_MS,
    writeLine: () => undefined,
    onTrouble: () => undefined,
  }
  return async (exporter, signal) => {
    try {
      await using transport = await openOnce(exporter, signal, hooks)
      return await transport.send(EMPTY_REQUEST, AbortSignal.timeout(LONGEST_SEND_MS))
    } catch (error) {
      return { kind: 'refused', splittable: false, reason: messageOf(error) }
    }
  }
}

interface Port extends Endpoint {
  what: string
  setting: string
  /** The URL of its health page. */
  url?: string
  /** The status code of that page when healthy. */
  expects?: number
}

/** Checks that a running Causeway listens on all its ports, or that the ports are free if none runs. */
async function* checkPorts(config: CausewayConfig, isRunning: boolean): AsyncGenerator<Finding> {
  for (const port of portsOf(config)) {
    if (port.port === 0) yield ok(port.what, 'takes any free port')
    else yield isRunning ? await whileRunning(port) : await whileStopped(port)
  }
}

async function whileRunning({ what, setting, host, port, url, expects = 200 }: Port): Promise<Finding> {
  const where = formatEndpoint({ host, port })
  const error = await connectionError(host, port)
  if (error !== undefined) {
    return fail(
      what,
      `a Causeway holds the database, but nothing answers on ${where} (${error})`,
      `restart it with this configuration, or correct ${setting}`,
    )
  }
  const status = url === undefined ? expects : await httpStatus(url)
  if (status === expects) return ok(what, `Causeway listens on ${where}`)
  if (status === 'late')
    return warn(
      what,
      `${where} accepts connections, but did not answer ${url ?? ''} within ${LONGEST_MS / 1_000} s`,
      "it may be busy with long questions, or the machine with other work: ask again, and if it stays so, look at Causeway's log",
    )
  return fail(
    what,
    `${where} answers ${url ?? ''} with ${status ?? 'nothing'}, not with ${expects}`,
    `look at Causeway's log; if another program listens there, correct ${setting}`,
  )
}

async function whileStopped({ what, setting, host, port, url, expects = 200 }: Port): Promise<Finding> {
  const where = formatEndpoint({ host, port })
  if ((await connectionError(host, port)) === undefined) {
    const other =
      url !== undefined && (await httpStatus(url)) === expects
        ? 'a Causeway on another database'
        : 'another program'
    return fail(
      what,
      `${other} listens on ${where}, and none runs on this database`,
      `stop it (ss -ltnp shows it), or write another port in ${setting}`,
    )
  }
  const error = await listenError(host, port)
  if (error === undefined) return ok(what, `${where} is free`)
  return fail(what, `cannot listen on ${where} (${error})`, `write another address in ${setting}`)
}

function portsOf({ receivers, extensions, telemetry }: CausewayConfig): Port[] {
  const listeners = [...receivers, ...extensions].flatMap((component) => component.listeners)
  const { metrics } = telemetry
  return [
    ...listeners.map(portOf),
    ...(metrics === undefined
      ? []
      : [
          {
            ...metrics,
            what: 'metrics',
            setting: 'service::telemetry::metrics::readers',
            url: `http://${formatEndpoint(metrics)}/metrics`,
          },
        ]),
  ]
}

function portOf({ host, port, what, path, page, tls }: ConfiguredListener): Port {
  const about = { host, port, what, setting: `${path}::endpoint` }
  // Over TLS, only the connection is tested: the host name in the certificate is unknown here.
  if (page === undefined || tls !== undefined) return about
  return { ...about, url: `http://${formatEndpoint({ host, port })}${page.path}`, expects: page.status }
}

const LONGEST_MS = 3_000
const EVERY_ADDRESS: Readonly<Record<string, string>> = {
  '0.0.0.0': '127.0.0.1',
  '::': '::1',
  '': '127.0.0.1',
}

/** Connects to a port. Undefined if something listens there, otherwise the error code, such as ECONNREFUSED. */
function connectionError(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const socket = connect({ host: ownValue(EVERY_ADDRESS, host) ?? host, port, timeout: LONGEST_MS })
  socket.once('connect', () => resolve(undefined))
  socket.once('timeout', () => resolve('ETIMEDOUT'))
  socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  return promise.finally(() => socket.destroy())
}

/** Listens on a port. Undefined if this process can, otherwise the error code, such as EACCES. */
export function listenError(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port }, () => server.close(() => resolve(undefined)))
  return promise
}

/** The HTTP status of a page; undefined without an answer, 'late' without one in time. */
async function httpStatus(url: string): Promise<number | 'late' | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_MS) })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    return error instanceof DOMException && error.name === 'TimeoutError' ? 'late' : undefined
  }
}

function checkRunning(path: string): { finding: Finding; isRunning: boolean } {
  try {
    const isRunning = isDatabaseLocked(path)
    const message = isRunning ? 'runs on this database' : 'does not run on this database'
    return { finding: ok('causeway', message), isRunning }
  } catch (error) {
    const advice = 'until then it cannot be known whether a Causeway runs on this database'
    return { finding: fail('causeway', messageOf(error), advice), isRunning: false }
  }
}

/** Checks that the certificates, tokens and passwords in the configuration are usable and valid. */
async function* checkFiles(config: CausewayConfig, components: Components): AsyncGenerator<Finding> {
  for await (const { reason } of faultsOfFiles(config, components))
    yield fail(
      'files',
      reason,
      'then run doctor again; a running Causeway takes the file at SIGHUP, or after its reload_interval',
    )
}

/** Checks that this process may open enough files for the configured connections. */
function checkOpenFiles(config: CausewayConfig): Finding {
  const limit = openFilesLimit()
  const { warning } = listenerLimits(config, limit)
  if (warning === undefined)
    return ok(
      'open files',
      limit === undefined ? 'nothing limits them here' : `${limit} may be open, which is enough`,
    )
  return warn(
    'open files',
    warning,
    'raise the limit for the user, service or container that starts causeway',
  )
}
