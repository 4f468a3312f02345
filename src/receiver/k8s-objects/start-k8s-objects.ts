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
  ResourceNotFollowed,
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
  type KnownObjectVersion,
  type MissingObject,
  type SkipReason,
  type WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import {
  ObservationReporter,
  type ObservationReporterSettings,
  type ReadObservations,
} from '../observation-reporter.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { logFiles, openCluster, watchUntilDisposed, WatchReports } from '../watched-cluster.ts'
import type { K8sObjectsSettings, WantedObjects } from './k8s-objects-receiver.ts'

/** Begins to watch. A cluster that does not answer yet keeps nothing from starting; throws when its kubeconfig or service account does. */
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

/** Lists that are made at a time: each may hold a page in memory. */
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
 * Watches everything that is wanted of a cluster, and what comes to be there later, until the signal aborts. An API server that
 * does not answer is asked again; nothing that cannot be watched keeps the others from it. Never rejects.
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

export interface Followed {
  readonly watched: readonly WatchedResource[]
  /** What is asked for by name and not there, or cannot be watched, and why. */
  readonly missing: readonly string[]
}

/** Groups whose objects say how the API server itself is doing, and follow from no change. */
const OF_THE_SERVER = new Set([
  'metrics.k8s.io',
  'custom.metrics.k8s.io',
  'external.metrics.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
])
const EVERY_NAMESPACE = ['']

/** What is watched of a cluster that has these resources. */
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
    if (found === undefined) missing.push(`${name} is not there; it is watched once it is`)
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
    // What stands in a Secret does not leave the API server.
    isMetadataOnly: group === '' && resource === 'secrets',
  }))
}

/** Reports every version of a resource's objects, and the objects that were deleted while there was no watch. */
export class ObjectFollower implements ResourceFollower<WatchedVersion> {
  readonly #watched: WatchedResource
  readonly #reporter: ObservationReporter
  readonly #reading: ReadingRules
  readonly #signal: AbortSignal
  #skipped: Partial<Record<SkipReason, number>> = {}
  /** The uids in the list that is being made. */
  #listed = new Set<string>()

  /** When the signal aborts, a report is not repeated any more. */
  constructor(
    watched: WatchedResource,
    reporter: ObservationReporter,
    reading: ReadingRules,
    signal: AbortSignal,
  ) {
    this.#watched = watched
    this.#reporter = reporter
    this.#reading = reading
    this.#signal = signal
  }

  position(): Promise<string | undefined> {
    return this.#reporter.position()
  }

  read(change: WatchEventType, object: JsonObject, seen: SeenThrough): WatchedVersion | undefined {
    const now = this.#reporter.waiting.now()
    // What is listed is there, also where it cannot be read.
    if (seen !== 'event') this.#listed.add(textIn(objectIn(object, 'metadata'), 'uid'))
    const read = readWatchEvent({ type: change, object }, now, this.#watched.resource, this.#reading)
    if (read === 'unversioned')
      throw new ResourceNotFollowed(
        'its resourceVersions are no integers, by which writes could be put in order',
      )
    if (typeof read === 'string') {
      this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
      return undefined
    }
    return seen === 'event' ? read : { ...read, by: seen }
  }

  listBegins(): void {
    this.#listed = new Set()
  }

  async take(items: readonly WatchedVersion[], version: string | undefined): Promise<void> {
    await this.#report(items, version)
  }

  async listEnds(version: string): Promise<void> {
    // After a first list, too: an earlier one may have broken off after some of it was reported.
    await this.#tellVanished(version)
    this.#listed = new Set()
    await this.#report([], version)
  }

  async #tellVanished(listVersion: string): Promise<void> {
    const { waiting } = this.#reporter
    const { apiVersion, resource, labelSelector, fieldSelector } = this.#watched
    const version = parseResourceVersion(listVersion)
    // Objects that no longer match a selector are gone from the list, and not from the cluster.
    if (version === undefined || labelSelector !== '' || fieldSelector !== '') return
    for (let after = ''; ;) {
      const held = await this.#reporter.knownObjects(apiVersion, resource, after)
      const last = held.at(-1)
      if (last === undefined) return
      const gone = held.filter((object) => this.#isGone(object, version))
      const vanished = gone.map(({ identity }): MissingObject => {
        return { source: 'list', object: identity, version, seenNs: waiting.now() }
      })
      if (vanished.length > 0) await this.#report(vanished, undefined)
      after = last.identity.uid
    }
  }

  /** Known before the list was made, within what is listed, and not in it. */
  #isGone({ identity, version }: KnownObjectVersion, listVersion: bigint): boolean {
    const { namespace } = this.#watched
    const isWithin = namespace === '' || identity.namespace === namespace
    return isWithin && version <= listVersion && !this.#listed.has(identity.uid)
  }

  async #report(observations: ReadObservations['observations'], position: string | undefined): Promise<void> {
    const skipped = this.#skipped
    this.#skipped = {}
    const read = { observations, skipped, ...(position !== undefined && { position }) }
    await this.#reporter.reportUntilStored(read, this.#signal)
  }
}
