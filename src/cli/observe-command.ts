import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMPONENTS, OBSERVE_COMPONENTS } from '../app/components.ts'
import { NOTICE_MESSAGE } from '../app/rate-limited-logs.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { formatEndpoint } from '../config/value-kinds.ts'
import { kubeconfigAccess } from '../kube/cluster/kubeconfig.ts'
import { EVERYTHING_LISTED } from '../model/kubernetes-observations.ts'
import { NANOS_PER_MS } from '../model/time-and-size.ts'
import { CliError, type CliIo, type CommandLine, messageOf, type Run } from './command-line.ts'
import { loadCommandConfig } from './configuration.ts'
import { listenError } from './doctor-command.ts'
import { checkReceivers } from './doctor-finding.ts'
import { count, duration, objectText, printable } from './text.ts'

const LOOK_EVERY_MS = 1_000
const SHOWN_SERVICES = 5
/** The status code of the dashboard's page if it was not built. */
const NOT_BUILT = 503

export const runObserve: Run = async (line, io) => {
  using folder = line.database === undefined ? temporaryFolder() : undefined
  const loaded = load(line, line.database ?? join(folder?.path ?? '', 'causeway.db'), io)
  await printWatchedResources(loaded, io)
  const [listener] = loaded.config.extensions.flatMap(({ listeners }) => listeners)
  const url = `http://${listener?.host ?? 'localhost'}:${listener?.port ?? 0}`
  const stop = new AbortController()
  const show = (cascade: SettledCascade): void => void io.stdout.write(`${lineOf(cascade, url)}\n`)
  const watching = watchSettled(new SettledCascades(url), LOOK_EVERY_MS, show, stop.signal)
  const writeLog = logForPeople({
    listed: (resources, refused) => {
      const all = refused === 0 ? `${resources}` : `${resources} of ${resources + refused}`
      const quiet = duration(BigInt(loaded.config.cpid.linking.settleAfterMs) * NANOS_PER_MS)
      io.stdout.write(
        `Watching ${all} resources. A change is printed once nothing has followed from it for ${quiet}; the dashboard is at ${url}/. Ctrl-C ends it.\n`,
      )
      void warnIfNotBuilt(url, io)
    },
    complaint: (text) => io.stderr.write(`${text}\n`),
  })
  try {
    return await io.run(loaded, () => loaded, writeLog)
  } catch (error) {
    throw (await portTaken(loaded)) ?? error
  } finally {
    stop.abort()
    await watching
  }
}

function load(line: CommandLine, database: string, io: CliIo): LoadedConfig {
  const { kubeconfig, context } = line
  const namespaces = line.namespace?.split(',') ?? []
  const cluster = nameOfCluster(kubeconfig, context)
  const source = observeConfig(OBSERVE_COMPONENTS, { cluster, kubeconfig, context, namespaces, database })
  return loadCommandConfig({ ...line, sources: [source] }, io)
}

const PORTS_TRIED = 20
const LAST_PORT = 65_535

/** The error if a port is in use. There is no configuration file to change, so it names the option for a free port. */
async function portTaken({ config }: LoadedConfig): Promise<CliError | undefined> {
  for (const { host, port, path } of config.extensions.flatMap(({ listeners }) => listeners)) {
    if (port === 0 || (await listenError(host, port)) !== 'EADDRINUSE') continue
    let free = Math.min(port + 1, LAST_PORT - PORTS_TRIED)
    const last = free + PORTS_TRIED
    while (free < last && (await listenError(host, free)) !== undefined) free++
    const option = `--set ${path.replaceAll('::', '.')}.endpoint=${formatEndpoint({ host, port: free })}`
    return new CliError(
      `another program uses port ${port}, perhaps a Causeway that already runs; to use another port, add ${option}`,
    )
  }
  return undefined
}

function nameOfCluster(path: string | undefined, context: string | undefined): string {
  try {
    return kubeconfigAccess({ path, context }).name
  } catch (error) {
    throw new CliError(messageOf(error))
  }
}

/** Prints which resources can be watched and which not. Throws CliError if none can. */
async function printWatchedResources({ config }: LoadedConfig, io: CliIo): Promise<void> {
  for await (const { state, message, advice = '' } of checkReceivers(config, io.components ?? COMPONENTS)) {
    const indented = advice.replaceAll('\n', '\n  ')
    if (state === 'fail' && !advice.includes('\n')) throw new CliError(`${printable(message)}; ${advice}`)
    io.stdout.write(`${printable(message)}${advice === '' ? '' : `\n  ${indented}`}\n`)
    if (state === 'fail')
      throw new CliError('nothing of the cluster can be seen; do what the lines above say')
  }
}

function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'causeway-observe-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Says so if the dashboard has not been built, as in a new checkout. Other faults show in the browser. */
async function warnIfNotBuilt(url: string, io: CliIo): Promise<void> {
  const { status } = await fetch(`${url}/`, { headers: { accept: 'text/html' } }).catch(() => ({ status: 0 }))
  if (status === NOT_BUILT)
    io.stdout.write('The dashboard has not been built yet: run npm run build, and load its page then.\n')
}

/** One line with the object, reason, services, duration and URL of a cascade. */
function lineOf(cascade: SettledCascade, url: string): string {
  const { root, object, actor, reason, services, spans, durationMs } = cascade
  const shown = services.slice(0, SHOWN_SERVICES).map(printable).join(', ')
  const more = services.length > SHOWN_SERVICES ? ` and ${services.length - SHOWN_SERVICES} more` : ''
  // A cascade of a single write has no duration.
  const took = spans === 1 ? '' : ` in ${duration(BigInt(Math.round(durationMs * Number(NANOS_PER_MS))))}`
  const why = printable(reason ?? `by ${actor ?? 'nobody known'}`)
  const wrote = `${count(spans, 'write')} of ${shown}${more}${took}`
  return `${objectText(object ?? undefined)}, ${why}: ${wrote}  ${url}/cascades/${root}`
}

/** The options of the command. */
interface Observed {
  readonly cluster: string
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly namespaces: readonly string[]
  /** The path of the database. */
  readonly database: string
}

/** The component types in use. */
interface ObservedBy {
  readonly receiver: string
  readonly dashboard: string
}

/** The configuration for watching one cluster, as JSON, which is also YAML. */
function observeConfig({ receiver, dashboard }: ObservedBy, observed: Observed): string {
  const { cluster, kubeconfig, context, namespaces, database } = observed
  const asked = { cluster, auth_type: 'kubeConfig', kubeconfig, context, namespaces }
  return `yaml:${JSON.stringify({
    receivers: { [receiver]: asked },
    // Short times, since people wait for each cascade.
    connectors: { cpid: { storage: { path: database }, linking: { wait: '3s', settle_after: '30s' } } },
    extensions: { [dashboard]: {} },
    service: {
      extensions: [dashboard],
      telemetry: { logs: { level: 'info', encoding: 'json' }, metrics: { level: 'none' } },
      pipelines: { 'traces/in': { receivers: [receiver], exporters: ['cpid'] } },
    },
  })}`
}

/** A cascade as the query API shows it. */
interface SettledCascade {
  readonly root: string
  readonly durationMs: number
  readonly spans: number
  readonly object: string | null
  readonly actor: string | null
  /** Why it began, such as `scale by alice`; null if unknown. */
  readonly reason: string | null
  /** Its services, those with the most time first. */
  readonly services: readonly string[]
}

interface Outline extends Omit<SettledCascade, 'services'> {
  readonly state: 'open' | 'settled'
}

const LIMIT = 500

/** Polls the query API for open cascades that have settled, and returns each once. */
export class SettledCascades {
  readonly #url: string
  #open = new Set<string>()

  constructor(url: string) {
    this.#url = url
  }

  /** The cascades that settled since the last call. Rejects if the API does not answer. */
  async look(): Promise<SettledCascade[]> {
    const { cascades } = await this.#get<{ cascades: Outline[] }>(`cascades?state=open&limit=${LIMIT}`)
    const open = new Set(cascades.map(({ root }) => root))
    const ended = [...this.#open].filter((root) => !open.has(root))
    const found = await Promise.all(ended.map((root) => this.#cascade(root)))
    // Open cascades beyond the limit of the list stay in the set too.
    this.#open = new Set([...open, ...found.flatMap((one) => (one?.state === 'open' ? [one.root] : []))])
    return found.flatMap((one) => (one?.state === 'settled' ? [one] : []))
  }

  /** Undefined if it was pruned. */
  async #cascade(root: string): Promise<(Outline & SettledCascade) | undefined> {
    type Answer = Outline & { timePerService: { service: string }[] }
    try {
      const cascade = await this.#get<Answer>(`cascades/${root}`)
      return { ...cascade, services: cascade.timePerService.map(({ service }) => service) }
    } catch {
      return undefined
    }
  }

  async #get<Answer>(path: string): Promise<Answer> {
    const response = await fetch(`${this.#url}/api/v1/${path}`)
    if (!response.ok) throw new Error(`${path} is answered ${response.status}`)
    return (await response.json()) as Answer
  }
}

/** Polls until the signal aborts, and calls `show` for each cascade. */
async function watchSettled(
  cascades: SettledCascades,
  everyMs: number,
  show: (cascade: SettledCascade) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const cascade of await cascades.look()) show(cascade)
    } catch {
      // The API does not listen yet, or no longer. The log says why.
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

interface LogReader {
  /** All resources were listed: how many are watched, and how many may not be. */
  readonly listed: (resources: number, refused: number) => void
  readonly complaint: (text: string) => void
}

type Line = Readonly<Record<string, string | undefined>>

/** Takes log lines in JSON, and prints those that matter to people. */
export function logForPeople({ listed, complaint }: LogReader): (line: string) => void {
  return (text) => {
    const line = JSON.parse(text) as Line
    if (line['msg'] === EVERYTHING_LISTED) listed(Number(line['resources']), Number(line['refused'] ?? 0))
    else if (line['level'] !== 'info' && line['level'] !== 'debug') complaint(printable(wordsOf(line)))
  }
}

/** The text of a log line. The message of notices is left out, since the reason says it all. */
function wordsOf({ msg, reason }: Line): string {
  const parts = msg === NOTICE_MESSAGE && reason !== undefined ? [reason] : [msg, reason]
  return parts.filter((part) => part !== undefined).join(' ')
}
