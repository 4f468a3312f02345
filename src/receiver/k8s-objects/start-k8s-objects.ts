import {
  type ApiResource,
  discover,
  nameOfResource,
  type WatchedResource,
} from '../../kube/cluster/api-resources.ts'
import { apiFailureText, type ApiServer } from '../../kube/cluster/api-server.ts'
import {
  Backoff,
  type BackoffClock,
  ListSlots,
  Outage,
  SYSTEM_BACKOFF_CLOCK,
} from '../../kube/cluster/flow-control.ts'
import {
  DEFAULT_STREAM_LIMITS,
  type ResourceFollower,
  ResourceStream,
  type SeenThrough,
  type StreamContext,
  type StreamLimits,
  type WatchEventType,
} from '../../kube/cluster/resource-stream.ts'
import {
  type JsonObject,
  objectIn,
  parseResourceVersion,
  reasonNotTraced,
  textIn,
} from '../../kube/objects/object-json.ts'
import { readWatchEvent } from '../../kube/objects/observations.ts'
import type { ReadingRules } from '../../model/kubernetes-objects.ts'
import {
  EVERYTHING_LISTED,
  type ExistingObject,
  type MissingObject,
  type WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import {
  ObservationReporter,
  type ObservationReporterSettings,
  ReportingFollower,
} from '../observation-reporter.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { logFiles, openCluster, watchUntilDisposed, WatchReports } from '../watched-cluster.ts'
import type { K8sObjectsSettings, WantedObjects } from './k8s-objects-receiver.ts'

/** Starts to watch. Retries an API server that does not answer; throws when the kubeconfig or service account cannot be used. */
export function startReceiver(
  { id, settings }: StartedWith<K8sObjectsSettings>,
  {
    observationPort: inference,
    reading,
    clusterObserver: clusters,
    memory,
    started,
    onTrouble,
    onWarning,
  }: ReceiverHost,
): Promise<RunningReceiver> {
  const { cluster } = settings
  const server = openCluster(id, settings, logFiles(id, cluster, { onTrouble, started }))
  const waiting = SYSTEM_BACKOFF_CLOCK
  const streams = new WatchReports(
    { receiver: id, cluster, address: server.address },
    {
      observer: clusters,
      onTrouble,
      onAllSeen: (seen, refused) =>
        started(EVERYTHING_LISTED, {
          ...{ 'otelcol.component.id': id, cluster, resources: String(seen) },
          ...(refused > 0 && { refused: String(refused) }),
        }),
      onBehind: (isBehind) => inference.setBehind(cluster, id, isBehind),
      onWarning: (warning) => onWarning(id, warning),
      now: () => waiting.now(),
    },
  )
  const reporter = {
    ...{ port: inference, waiting, memory, onTrouble },
    ...{ cluster, receiver: id, observer: clusters },
  }
  const followed = { settings, server, reporter, reading, limits: DEFAULT_STREAM_LIMITS, waiting, streams }
  const running = watchUntilDisposed(server, (signal) => followCluster(followed, signal))
  started('Starting to watch', { endpoint: server.address, 'otelcol.component.id': id, cluster })
  return Promise.resolve(running)
}

/** How many lists run at a time: each may hold a page in memory. */
const LISTS_AT_ONCE = 3

interface FollowedCluster {
  readonly settings: K8sObjectsSettings
  readonly server: ApiServer
  readonly reporter: Omit<ObservationReporterSettings, 'stream'>
  readonly reading: ReadingRules
  readonly limits: StreamLimits
  readonly waiting: BackoffClock
  readonly streams: WatchReports
}

interface Running {
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/**
 * Watches the configured resources of a cluster, including those that are created later, until the signal aborts. Retries an API
 * server that does not answer; a resource that cannot be watched does not affect the others. Never rejects.
 */
export async function followCluster(cluster: FollowedCluster, signal: AbortSignal): Promise<void> {
  const { settings, server, waiting, streams } = cluster
  const context: StreamContext = {
    ...cluster,
    observer: streams,
    lists: new ListSlots(LISTS_AT_ONCE),
    outage: new Outage(),
  }
  const running = new Map<string, Running>()
  const pauses = new Backoff(waiting)
  const reported = new Set<string>()
  let sinceNs: UnixNanos | undefined
  while (!signal.aborted) {
    const there = await discovered(server, streams, signal)
    if (there === undefined) {
      await pauses.pause(signal)
      continue
    }
    pauses.over()
    const { watched, missing } = followedResources(settings, there)
    for (const reason of missing) if (!reported.has(reason)) streams.trouble('', reason)
    for (const reason of missing) reported.add(reason)
    const names = new Set(watched.map(nameOfResource))
    for (const [name, { stop }] of running)
      if (!names.has(name)) {
        stop.abort()
        running.delete(name)
        streams.gone(name)
      }
    streams.begun([...names])
    for (const resource of watched) {
      const name = nameOfResource(resource)
      if (!running.has(name)) running.set(name, start(cluster, context, resource, sinceNs, signal))
    }
    sinceNs ??= waiting.now()
    await waiting.sleep(settings.discoveryIntervalMs, signal)
  }
  await Promise.all([...running.values()].map(({ ended }) => ended))
}

async function discovered(
  server: ApiServer,
  streams: WatchReports,
  signal: AbortSignal,
): Promise<ApiResource[] | undefined> {
  try {
    return await discover(server, signal)
  } catch (error) {
    if (!signal.aborted) streams.unreachable(apiFailureText(error))
    return undefined
  }
}

function start(
  { reporter, reading }: FollowedCluster,
  context: StreamContext,
  watched: WatchedResource,
  watchedSinceNs: UnixNanos | undefined,
  signal: AbortSignal,
): Running {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const stream = `${reporter.receiver} ${nameOfResource(watched)}`
  const follower = new ObjectFollower(
    watched,
    new ObservationReporter({ ...reporter, stream }),
    reading,
    either,
  )
  return { stop, ended: new ResourceStream(watched, follower, context, watchedSinceNs).run(either) }
}

interface Followed {
  readonly watched: readonly WatchedResource[]
  /** The configured resources that do not exist or cannot be watched, each with the reason. */
  readonly missing: readonly string[]
}

/** Groups whose objects describe metrics or the API server itself; no change causes them. */
const OF_THE_SERVER = new Set([
  'metrics.k8s.io',
  'custom.metrics.k8s.io',
  'external.metrics.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
])
const EVERY_NAMESPACE = ['']

/** Which of the resources that discovery found are watched. */
export function followedResources(
  { objects, namespaces }: K8sObjectsSettings,
  there: readonly ApiResource[],
): Followed {
  if (objects.length === 0) {
    const all = there.filter((resource) => isTraced(resource) && canBeWatched(resource))
    const within = namespaces.length === 0 ? all : all.filter(({ isNamespaced }) => isNamespaced)
    const wanted = { namespaces, labelSelector: '', fieldSelector: '' }
    return { watched: within.flatMap((resource) => watchedOf(resource, wanted)), missing: [] }
  }
  const watched: WatchedResource[] = []
  const missing: string[] = []
  for (const wanted of objects) {
    const name = wanted.group === undefined ? wanted.name : `${wanted.name}.${wanted.group}`
    const found = there.find((resource) => isWanted(resource, wanted))
    if (found === undefined) missing.push(`${name} does not exist; it is watched once it does`)
    else if (!canBeWatched(found)) missing.push(`${name} cannot be watched; remove it from objects`)
    else if (!isTraced(found)) missing.push(`${name} takes no part in cascades; remove it from objects`)
    else watched.push(...watchedOf(found, wanted))
  }
  return { watched, missing }
}

function isWanted({ group, resource }: ApiResource, wanted: WantedObjects): boolean {
  return resource === wanted.name && (wanted.group === undefined || group === wanted.group)
}

function isTraced({ group, apiVersion, resource }: ApiResource): boolean {
  return reasonNotTraced(apiVersion, resource) === undefined && !OF_THE_SERVER.has(group)
}

function canBeWatched({ verbs }: ApiResource): boolean {
  return verbs.includes('list') && verbs.includes('watch')
}

function watchedOf(
  { group, apiVersion, resource, kind, isNamespaced }: ApiResource,
  wanted: Omit<WantedObjects, 'name'>,
): WatchedResource[] {
  const { namespaces, labelSelector, fieldSelector } = wanted
  const each = isNamespaced && namespaces.length > 0 ? namespaces : EVERY_NAMESPACE
  return each.map((namespace) => ({
    apiVersion,
    resource,
    kind,
    namespace,
    labelSelector,
    fieldSelector,
    // The data of a Secret is never requested.
    isMetadataOnly: group === '' && resource === 'secrets',
  }))
}

/** Reports every version of a resource's objects, and the objects that were deleted while there was no watch. */
export class ObjectFollower extends ReportingFollower implements ResourceFollower<WatchedVersion> {
  readonly #watched: WatchedResource
  readonly #reading: ReadingRules
  /** The uids in the list that is being made. */
  #listed = new Set<string>()

  constructor(
    watched: WatchedResource,
    reporter: ObservationReporter,
    reading: ReadingRules,
    signal: AbortSignal,
  ) {
    super(reporter, signal)
    this.#watched = watched
    this.#reading = reading
  }

  read(change: WatchEventType, object: JsonObject, seen: SeenThrough): WatchedVersion | undefined {
    const now = this.reporter.waiting.now()
    // What is listed is there, also where it cannot be read.
    if (seen !== 'event') this.#listed.add(textIn(objectIn(object, 'metadata'), 'uid'))
    const read = readWatchEvent({ type: change, object }, now, this.#watched.resource, this.#reading)
    const version = this.unlessSkipped(read, 'writes could be put in order')
    return version === undefined || seen === 'event' ? version : { ...version, by: seen }
  }

  listBegins(): void {
    this.#listed = new Set()
  }

  async listEnds(version: string): Promise<void> {
    // After a first list too: an earlier list may have failed after a part of it was reported.
    await this.#reportVanished(version)
    this.#listed = new Set()
    await this.take([], version)
  }

  async #reportVanished(listVersion: string): Promise<void> {
    const { waiting } = this.reporter
    const { apiVersion, resource, labelSelector, fieldSelector } = this.#watched
    const version = parseResourceVersion(listVersion)
    // An object that no longer matches a selector is missing from the list, but not deleted.
    if (version === undefined || labelSelector !== '' || fieldSelector !== '') return
    for (let after = ''; ;) {
      const held = await this.reporter.knownObjects(apiVersion, resource, after)
      const last = held.at(-1)
      if (last === undefined) return
      const gone = held.filter((object) => this.#isGone(object, version))
      const vanished = gone.map(({ identity }): MissingObject => {
        return { source: 'list', object: identity, version, seenNs: waiting.now() }
      })
      if (vanished.length > 0) await this.take(vanished, undefined)
      after = last.identity.uid
    }
  }

  /** Whether the object was known before the list, belongs to the listed namespace, and is not in the list. */
  #isGone({ identity, version }: ExistingObject, listVersion: bigint): boolean {
    const { namespace } = this.#watched
    const isWithin = namespace === '' || identity.namespace === namespace
    return isWithin && version <= listVersion && !this.#listed.has(identity.uid)
  }
}
