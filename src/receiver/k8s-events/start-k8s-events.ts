import {
  type ApiResource,
  discover,
  nameOfResource,
  type WatchedResource,
} from '../../kube/cluster/api-resources.ts'
import { apiFailureText, type ApiServer } from '../../kube/cluster/api-server.ts'
import { Backoff, ListSlots, Outage, SYSTEM_BACKOFF_CLOCK } from '../../kube/cluster/flow-control.ts'
import {
  DEFAULT_STREAM_LIMITS,
  type ResourceFollower,
  ResourceStream,
  type SeenThrough,
  type WatchEventType,
} from '../../kube/cluster/resource-stream.ts'
import type { JsonObject } from '../../kube/objects/object-json.ts'
import { readEvent } from '../../kube/objects/observations.ts'
import type { ClusterEvent } from '../../model/kubernetes-observations.ts'
import { ObservationReporter, ReportingFollower } from '../observation-reporter.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { logFiles, openCluster, watchUntilDisposed, WatchReports } from '../watched-cluster.ts'
import type { K8sEventsSettings } from './k8s-events-receiver.ts'

/** Starts to watch. Retries an API server that does not answer; throws when the kubeconfig or service account cannot be used. */
export function startReceiver(
  { id, settings }: StartedWith<K8sEventsSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  const { cluster } = settings
  const server = openCluster(id, settings, logFiles(id, cluster, host))
  const running = watchUntilDisposed(server, (signal) => watchEvents(id, settings, server, host, signal))
  host.started('Starting to watch Events', {
    endpoint: server.address,
    ...{ 'otelcol.component.id': id, cluster },
  })
  return Promise.resolve(running)
}

async function watchEvents(
  receiver: string,
  { cluster, namespaces }: K8sEventsSettings,
  server: ApiServer,
  { observationPort: port, clusterObserver: clusters, memory, onTrouble, onWarning }: ReceiverHost,
  signal: AbortSignal,
): Promise<void> {
  const waiting = SYSTEM_BACKOFF_CLOCK
  const reports = new WatchReports(
    { receiver, cluster, address: server.address },
    {
      ...{ observer: clusters, onTrouble, now: () => waiting.now() },
      onWarning: (warning) => onWarning(receiver, warning),
    },
  )
  const watched = await untilFound(server, namespaces, reports, signal)
  const context = {
    server,
    waiting,
    observer: reports,
    limits: DEFAULT_STREAM_LIMITS,
    lists: new ListSlots(1),
    outage: new Outage(),
  }
  await Promise.all(
    watched.map((one) => {
      const stream = `${receiver} ${nameOfResource(one)}`
      const reporter = new ObservationReporter({
        ...{ receiver, cluster, stream, port, memory },
        ...{ observer: clusters, onTrouble },
      })
      const follower = new EventFollower(reporter, signal)
      return new ResourceStream(one, follower, context).run(signal)
    }),
  )
}

/** Retries discovery until it finds Events to watch; empty if the signal aborts first. */
async function untilFound(
  server: ApiServer,
  namespaces: readonly string[],
  reports: WatchReports,
  signal: AbortSignal,
): Promise<WatchedResource[]> {
  const pauses = new Backoff(SYSTEM_BACKOFF_CLOCK)
  while (!signal.aborted) {
    try {
      const found = watchedEvents(await discover(server, signal), namespaces)
      if (found.length > 0) return found
      reports.unreachable('it has no Events that can be watched')
    } catch (error) {
      if (!isOver(signal)) reports.unreachable(apiFailureText(error))
    }
    await pauses.pause(signal)
  }
  return []
}

/** A function, since `aborted` changes during an await. */
const isOver = (signal: AbortSignal): boolean => signal.aborted

/** Reports every Event, and every repetition of one. */
export class EventFollower extends ReportingFollower implements ResourceFollower<ClusterEvent> {
  read(change: WatchEventType, object: JsonObject, seen: SeenThrough): ClusterEvent | undefined {
    // Events expire after an hour, so a deletion says nothing. Events of the first list are about writes from before the watch.
    const isNew = change !== 'DELETED' && seen !== 'first list'
    const read = isNew ? readEvent(object, this.reporter.waiting.now()) : 'event'
    return this.unlessSkipped(read, 'one is known from the next')
  }

  listBegins(): void {
    // Each Event is reported as it arrives.
  }

  async listEnds(version: string): Promise<void> {
    await this.take([], version)
  }
}

const GROUPS = ['events.k8s.io', '']
const EVERY_NAMESPACE = ['']

/** The Events to watch: of events.k8s.io, which have series, else of the core API; none if the API server has neither. */
export function watchedEvents(
  there: readonly ApiResource[],
  namespaces: readonly string[],
): WatchedResource[] {
  const found = GROUPS.flatMap((wanted) =>
    there.filter(({ group, resource }) => group === wanted && resource === 'events'),
  )
  const [best] = found.filter(({ verbs }) => verbs.includes('list') && verbs.includes('watch'))
  if (best === undefined) return []
  const { apiVersion, resource, kind } = best
  return (namespaces.length > 0 ? namespaces : EVERY_NAMESPACE).map((namespace) => ({
    ...{ apiVersion, resource, kind, namespace },
    ...{ labelSelector: '', fieldSelector: '', isMetadataOnly: false },
  }))
}
