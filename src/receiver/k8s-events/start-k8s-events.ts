import type { ApiServer } from '../../cluster/api-server.ts'
import { discover } from '../../cluster/discovery.ts'
import { ListPlaces } from '../../cluster/list-places.ts'
import { ResourceStream, USUAL_LIMITS } from '../../cluster/resource-stream.ts'
import { MACHINE_WAITING, Outage, Pauses } from '../../cluster/waiting.ts'
import { nameOfResource, type WatchedResource } from '../../cluster/watched-resource.ts'
import { troubleText } from '../../cluster/trouble-text.ts'
import { openCluster } from '../clusters/open-cluster.ts'
import { StreamReporter } from '../clusters/stream-reporter.ts'
import { StreamReports } from '../clusters/stream-reports.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { EventFollower } from './event-follower.ts'
import type { K8sEventsSettings } from './k8s-events-receiver.ts'
import { watchedEvents } from './watched-events.ts'

/** Begins to watch. A cluster that does not answer yet keeps nothing from starting; throws when its kubeconfig or service account does. */
export function startReceiver(
  { id, settings }: StartedWith<K8sEventsSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  const server = openCluster(id, settings)
  const { cluster } = settings
  const stop = new AbortController()
  const ended = watchEvents(id, settings, server, host, stop.signal)
  host.started('Starting to watch Events', {
    endpoint: server.address,
    ...{ 'otelcol.component.id': id, cluster },
  })
  return Promise.resolve({
    ways: [],
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      server[Symbol.dispose]()
    },
  })
}

async function watchEvents(
  receiver: string,
  { cluster, namespaces }: K8sEventsSettings,
  server: ApiServer,
  { inference: port, clusters, memory, onTrouble }: ReceiverHost,
  signal: AbortSignal,
): Promise<void> {
  const reports = new StreamReports({ receiver, cluster, address: server.address }, clusters, onTrouble)
  const watched = await untilFound(server, namespaces, reports, signal)
  const waiting = MACHINE_WAITING
  const context = {
    server,
    waiting,
    observer: reports,
    limits: USUAL_LIMITS,
    lists: new ListPlaces(1),
    outage: new Outage(),
  }
  await Promise.all(
    watched.map((one) => {
      const stream = `${receiver} ${nameOfResource(one)}`
      const teller = new StreamReporter({
        ...{ receiver, cluster, stream, port, memory },
        ...{ observer: clusters, onTrouble },
      })
      const follower = new EventFollower(teller, () => waiting.now(), signal)
      return new ResourceStream(one, follower, context).run(signal)
    }),
  )
}

/** Asks which Events there are until the API server tells; none when the signal aborts before. */
async function untilFound(
  server: ApiServer,
  namespaces: readonly string[],
  reports: StreamReports,
  signal: AbortSignal,
): Promise<WatchedResource[]> {
  const pauses = new Pauses(MACHINE_WAITING)
  while (!signal.aborted) {
    try {
      const found = watchedEvents(await discover(server, signal), namespaces)
      if (found.length > 0) return found
      reports.unreachable('it has no Events that can be watched')
    } catch (error) {
      if (!isOver(signal)) reports.unreachable(troubleText(error))
    }
    await pauses.pause(signal)
  }
  return []
}

/** Asked anew each time: it changes while something is awaited. */
const isOver = (signal: AbortSignal): boolean => signal.aborted
