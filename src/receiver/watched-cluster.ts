import type { WatchedResource } from '../kube/cluster/api-resources.ts'
import { ApiError, ApiServer, isCertificateTrouble, NotAnApiServer } from '../kube/cluster/api-server.ts'
import { type ClusterAccess, serviceAccountAccess } from '../kube/cluster/cluster-access.ts'
import type { FilesTrouble } from '../kube/cluster/files-in-use.ts'
import { kubeconfigAccess } from '../kube/cluster/kubeconfig.ts'
import type { StreamObserver } from '../kube/cluster/resource-stream.ts'
import { errorText } from '../model/faults.ts'
import { NANOS_PER_MS, nanosOfMs, type UnixNanos } from '../model/time-and-size.ts'
import type { AskedCluster } from './cluster-settings.ts'
import type { ClusterObserver, ReceiverHost, RunningReceiver } from './receiver-type.ts'

/** Where the reports of a cluster go. */
interface WatchSinks {
  readonly observer: ClusterObserver
  readonly onTrouble: (reason: string) => void
  readonly onAllSeen?: (seen: number, refused: number) => void
  readonly onBehind?: (isBehind: boolean) => void
  /** Called when no watch of the cluster has been in sync for long; with undefined once one is. */
  readonly onWarning: (warning: string | undefined) => void
  readonly now: () => UnixNanos
}

/** How long no watch may be in sync before this is a warning: a restarted API server is back sooner. */
const LONG_UNSEEN_MS = 60_000

/** Reports what happens to the watches of a cluster, as metrics and as messages for the operator. */
export class WatchReports implements StreamObserver {
  readonly #receiver: string
  readonly #cluster: string
  readonly #address: string
  readonly #sinks: WatchSinks
  readonly #behind = new Set<string>()
  readonly #refused = new Set<string>()
  /** The streams that are followed and not refused. */
  readonly #streams = new Set<string>()
  /** Since when no stream is in sync, and whether that was reported. */
  #unseen: { readonly sinceNs: UnixNanos; isReported: boolean } | undefined
  #wereInSync = false
  /** Every stream was in sync, then all fell behind, and none is in sync since: the API server was down. */
  #isOut = false
  /** Streams that are being relisted: only the first is reported. */
  readonly #anew = new Set<string>()
  /** The refusals that are not reported yet, by stream. */
  readonly #unreported = new Map<string, string>()
  /** The first streams that are neither listed nor refused yet; undefined before `begun`. */
  #awaited: Set<string> | undefined
  #begun = 0

  constructor(
    { receiver, cluster, address }: { receiver: string; cluster: string; address: string },
    sinks: WatchSinks,
  ) {
    this.#receiver = receiver
    this.#cluster = cluster
    this.#address = address
    this.#sinks = sinks
  }

  /** Once each of these is listed or refused, all refusals are reported together; later ones are reported one by one. */
  begun(streams: readonly string[]): void {
    if (this.#awaited !== undefined) return
    this.#awaited = new Set(streams)
    this.#begun = streams.length
  }

  behind(stream: string): void {
    this.#streams.add(stream)
    this.#behind.add(stream)
    this.#isOut ||= this.#wereInSync && this.#behind.size === this.#streams.size
    if (this.#behind.size === 1) this.#sinks.onBehind?.(true)
  }

  inSync(stream: string): void {
    if (this.#unseen?.isReported === true) this.#sinks.onWarning(undefined)
    this.#unseen = undefined
    if (!this.#behind.delete(stream)) return
    if (this.#behind.size === 0 || this.#isOut) this.#sinks.onBehind?.(false)
    // Some streams still are behind: that counts from now on.
    if (this.#behind.size > 0 && this.#isOut) this.#sinks.onBehind?.(true)
    this.#isOut = false
    this.#wereInSync ||= this.#behind.size === 0
  }

  /** The resource no longer exists, or is no longer configured. */
  gone(stream: string): void {
    this.#anew.delete(stream)
    this.#streams.delete(stream)
    this.inSync(stream)
    this.refused(stream, undefined)
  }

  listed(stream: string): void {
    this.#anew.delete(stream)
    if (this.#awaited?.delete(stream) !== true || this.#awaited.size > 0) return
    this.#reportRefused()
    this.#sinks.onAllSeen?.(this.#begun - this.#refused.size, this.#refused.size)
  }

  relisted(stream: string, reason: string): void {
    this.#sinks.observer.relisted(this.#receiver)
    this.#anew.add(stream)
    if (this.#anew.size === 1)
      this.#say(
        `${stream} of the cluster ${this.#cluster} is relisted, and perhaps others with it: ${reason}; changes in between are marked as a gap`,
      )
  }

  restarted(stream: string): void {
    this.listed(stream)
    this.#sinks.observer.watched(this.#receiver)
  }

  refused(stream: string, reason: string | undefined): void {
    if (reason === undefined) {
      this.#refused.delete(stream)
      this.#unreported.delete(stream)
    } else if (!this.#refused.has(stream)) {
      this.#refused.add(stream)
      this.#streams.delete(stream)
      this.#unreported.set(stream, reason)
    }
    this.#sinks.observer.refused(this.#receiver, this.#refused.size)
    this.listed(stream)
    if (this.#awaited === undefined || this.#awaited.size === 0) this.#reportRefused()
  }

  unreachable(reason: string): void {
    this.#warnOfLongUnseen(reason)
    this.#say(
      `the cluster ${this.#cluster} at ${this.#address} is retried: ${reason} (causeway doctor says what to do)`,
    )
  }

  unreadable(stream: string, reason: string): void {
    this.#sinks.observer.unreadable(this.#receiver, 1, `${stream} of the cluster ${this.#cluster}: ${reason}`)
  }

  trouble(stream: string, reason: string): void {
    this.#say(stream === '' ? reason : `${stream} of the cluster ${this.#cluster}: ${reason}`)
  }

  #warnOfLongUnseen(reason: string): void {
    const isSeen = [...this.#streams].some((name) => !this.#behind.has(name) && !this.#refused.has(name))
    if (isSeen) return
    const nowNs = this.#sinks.now()
    this.#unseen ??= { sinceNs: nowNs, isReported: false }
    const { sinceNs } = this.#unseen
    if (nowNs - sinceNs < nanosOfMs(LONG_UNSEEN_MS)) return
    this.#unseen.isReported = true
    const since = new Date(Number(sinceNs / NANOS_PER_MS)).toISOString()
    this.#sinks.onWarning(
      `${this.#receiver}: nothing is seen of the cluster ${this.#cluster} at ${this.#address} since ${since}: ${reason}`,
    )
  }

  #reportRefused(): void {
    const [first] = this.#unreported
    if (first === undefined) return
    const names = [...this.#unreported.keys()]
    this.#unreported.clear()
    const [stream, reason] = first
    const what =
      names.length === 1
        ? `${stream} of the cluster ${this.#cluster} is not seen: ${reason}; allow it`
        : `${names.length} resources of the cluster ${this.#cluster} are not seen: ${shortListOf(names)}; ${stream}: ${reason}; allow them`
    this.#say(`${what} (causeway doctor says how), or name in objects what to watch`)
  }

  #say(reason: string): void {
    this.#sinks.onTrouble(`${this.#receiver}: ${reason}`)
  }
}

const UNAUTHORIZED = 401
const FORBIDDEN = 403
const TOO_MANY = 429
const SERVER_FAULT = 500
const NAMED = 5

/** Advice for an operator whose API server cannot be reached or refuses access. */
export function adviceForUnreachableCluster(error: unknown, authType: AskedCluster['authType']): string {
  const isPod = authType === 'serviceAccount'
  const access = isPod ? 'its service account' : 'kubeconfig and context'
  const isOther = error instanceof ApiError && !error.isStatus && error.status < SERVER_FAULT
  if (isOther || error instanceof NotAnApiServer)
    return `correct its address: ${isPod ? 'KUBERNETES_SERVICE_HOST is' : 'the server in the kubeconfig is'} no API server`
  if (isCertificateTrouble(error))
    return `name who signed it in ${isPod ? 'ca.crt of its service account' : 'certificate-authority of the kubeconfig'}, or correct the server`
  if (!(error instanceof ApiError))
    return `start the API server, or correct ${access}; nothing is seen meanwhile`
  if (error.status === UNAUTHORIZED)
    return isPod
      ? 'let the Pod have its service account (automountServiceAccountToken: true)'
      : `log in again as for kubectl, or correct ${access}`
  if (error.status === FORBIDDEN)
    return 'let it ask which resources there are: bind it to the ClusterRole system:discovery'
  if (error.status === TOO_MANY || error.status >= SERVER_FAULT)
    return 'see how the API server is; it is asked again until it answers'
  return `correct ${access}`
}

/** The first few names, those without a domain before others (`v1/pods`, `apps/v1/deployments`), and how many more there are. */
export function shortListOf(names: readonly string[]): string {
  const [plain, others] = [false, true].map((isOther) =>
    names.filter((name) => name.includes('.') === isOther),
  )
  const sorted = [...(plain ?? []).sort(), ...(others ?? []).sort()]
  if (sorted.length <= NAMED + 1) return sorted.join(', ')
  return `${sorted.slice(0, NAMED).join(', ')} and ${sorted.length - NAMED} more`
}

/** The rules that a role lacks to list and watch these, in YAML's flow style. */
export function missingRoleRules(refused: readonly WatchedResource[]): string {
  const namespaces = new Set(refused.map(({ namespace }) => namespace))
  const role = namespaces.has('') ? 'ClusterRole' : `Role in ${shortListOf([...namespaces])}`
  const byGroup = Map.groupBy(refused, ({ apiVersion }) => apiVersion.split('/').slice(0, -1).join(''))
  const rules = [...byGroup]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([group, all]) => {
      const resources = [...new Set(all.map(({ resource }) => resource))].sort().join(', ')
      return `- { apiGroups: ["${group}"], resources: [${resources}], verbs: [list, watch] }`
    })
  return `add to the rules of its ${role}:${rules.length === 1 ? ' ' : '\n'}${rules.join('\n')}`
}

/** The API server of a receiver, before any request. Throws an Error that says what to correct. */
export function openCluster(id: string, asked: AskedCluster, onTrouble?: FilesTrouble): ApiServer {
  try {
    return new ApiServer(accessOf(asked, onTrouble))
  } catch (cause) {
    throw new Error(`receiver ${id}: ${errorText(cause)}`, { cause })
  }
}

/** Logs when a kubeconfig or credential file of a cluster becomes unusable, and when it is usable again. */
export function logFiles(
  id: string,
  cluster: string,
  { onTrouble, started }: Pick<ReceiverHost, 'onTrouble' | 'started'>,
): FilesTrouble {
  return (reason) => {
    if (reason !== undefined) onTrouble(`${id}: ${reason}`)
    else
      started('The files by which a cluster is reached can be used again', {
        'otelcol.component.id': id,
        cluster,
      })
  }
}

/** Watches until disposed, then closes the connections to the API server. */
export function watchUntilDisposed(
  server: ApiServer,
  watch: (signal: AbortSignal) => Promise<void>,
): RunningReceiver {
  const stop = new AbortController()
  const ended = watch(stop.signal)
  return {
    listeners: [],
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      server[Symbol.dispose]()
    },
  }
}

function accessOf(
  { authType, kubeconfig, context }: AskedCluster,
  onTrouble: FilesTrouble | undefined,
): ClusterAccess {
  if (authType === 'serviceAccount') return serviceAccountAccess(undefined, undefined, onTrouble)
  return kubeconfigAccess({ path: kubeconfig, context, ...(onTrouble && { onTrouble }) })
}
