import { USUAL_LIMITS } from '../../cluster/resource-stream.ts'
import { MACHINE_WAITING } from '../../cluster/waiting.ts'
import { EVERYTHING_LISTED } from '../../model/kubernetes/everything-listed.ts'
import { openCluster } from '../clusters/open-cluster.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { followCluster } from './followed-cluster.ts'
import type { K8sObjectsSettings } from './k8s-objects-receiver.ts'
import { StreamReports } from '../clusters/stream-reports.ts'

/** Begins to watch. A cluster that does not answer yet keeps nothing from starting; throws when its kubeconfig or service account does. */
export function startReceiver(
  { id, settings }: StartedWith<K8sObjectsSettings>,
  { inference, references, clusters, memory, started, onTrouble }: ReceiverHost,
): Promise<RunningReceiver> {
  const server = openCluster(id, settings)
  const { cluster } = settings
  const stop = new AbortController()
  const streams = new StreamReports(
    { receiver: id, cluster, address: server.address },
    clusters,
    onTrouble,
    (seen, refused) =>
      started(EVERYTHING_LISTED, {
        ...{ 'otelcol.component.id': id, cluster, resources: String(seen) },
        ...(refused > 0 && { refused: String(refused) }),
      }),
    (isBehind) => inference.behind(cluster, id, isBehind),
  )
  const waiting = MACHINE_WAITING
  const teller = {
    ...{ port: inference, references, waiting, memory, onTrouble },
    ...{ cluster, receiver: id, observer: clusters },
  }
  const ended = followCluster(
    { settings, server, teller, limits: USUAL_LIMITS, waiting, streams },
    stop.signal,
  )
  started('Starting to watch', { endpoint: server.address, 'otelcol.component.id': id, cluster })
  return Promise.resolve({
    ways: [],
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      server[Symbol.dispose]()
    },
  })
}
