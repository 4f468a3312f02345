import type { ApiServer } from '../../cluster/api-server.ts'
import { discover, type ApiResource } from '../../cluster/discovery.ts'
import { ListPlaces } from '../../cluster/list-places.ts'
import { ResourceStream, type StreamContext, type StreamLimits } from '../../cluster/resource-stream.ts'
import { Outage, Pauses, type Waiting } from '../../cluster/waiting.ts'
import { nameOfResource, type WatchedResource } from '../../cluster/watched-resource.ts'
import { troubleText } from '../../cluster/trouble-text.ts'
import type { StreamReports } from '../clusters/stream-reports.ts'
import { followedResources } from './followed-resources.ts'
import type { K8sObjectsSettings } from './k8s-objects-receiver.ts'
import { ObjectFollower, type ObjectReporter } from './object-follower.ts'

/** Lists that are made at a time: each may hold a page in memory. */
const LISTS_AT_ONCE = 3

export interface FollowedCluster {
  readonly settings: K8sObjectsSettings
  readonly server: ApiServer
  readonly teller: Omit<ObjectReporter, 'signal'>
  readonly limits: StreamLimits
  readonly waiting: Waiting
  readonly streams: StreamReports
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
    lists: new ListPlaces(LISTS_AT_ONCE),
    outage: new Outage(),
  }
  const running = new Map<string, Running>()
  const pauses = new Pauses(waiting)
  const told = new Set<string>()
  let isLate = false
  while (!signal.aborted) {
    const there = await discovered(server, streams, signal)
    if (there === undefined) {
      await pauses.pause(signal)
      continue
    }
    pauses.over()
    const { watched, missing } = followedResources(settings, there)
    for (const reason of missing) if (!told.has(reason)) streams.trouble('', reason)
    for (const reason of missing) told.add(reason)
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
      if (!running.has(name)) running.set(name, start(cluster, context, resource, isLate, signal))
    }
    isLate = true
    await waiting.sleep(settings.discoveryIntervalMs, signal)
  }
  await Promise.all([...running.values()].map(({ ended }) => ended))
}

async function discovered(
  server: ApiServer,
  streams: StreamReports,
  signal: AbortSignal,
): Promise<ApiResource[] | undefined> {
  try {
    return await discover(server, signal)
  } catch (error) {
    if (!signal.aborted) streams.unreachable(troubleText(error))
    return undefined
  }
}

function start(
  { teller }: FollowedCluster,
  context: StreamContext,
  watched: WatchedResource,
  isLate: boolean,
  signal: AbortSignal,
): Running {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const follower = new ObjectFollower(watched, { ...teller, signal: either })
  const stream = new ResourceStream(watched, follower, context, isLate)
  return { stop, ended: stream.run(either) }
}
