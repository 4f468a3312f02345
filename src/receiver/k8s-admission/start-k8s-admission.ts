import { StreamReporter } from '../clusters/stream-reporter.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { AdmissionListener, type AdmissionEvent } from './admission-listener.ts'
import { AdmittedQueue } from './admitted-queue.ts'
import type { K8sAdmissionSettings } from './k8s-admission-receiver.ts'

/** Listens for reviews. */
export async function startReceiver(
  { id, settings }: StartedWith<K8sAdmissionSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  const { cluster, auth, maxBytes, ...listener } = settings
  const { maxConnections, maxConnectionsPerAddress, requestTimeoutMs, shutdownGraceMs } = host
  const teller = new StreamReporter({
    ...{ receiver: id, cluster, stream: id, port: host.inference },
    ...{ memory: host.memory, observer: host.clusters, onTrouble: host.onTrouble },
  })
  const queue = new AdmittedQueue(id, teller, host.clusters)
  const { authenticator } = host.authenticatorOf(auth === undefined ? {} : { auth })
  const listening = await AdmissionListener.start({
    ...{ receiver: id, maxBytes, authenticator, onTrouble: host.onTrouble },
    listener: {
      ...{ ...listener, receiver: id },
      ...{ maxConnections, maxConnectionsPerAddress, requestTimeoutMs, shutdownGraceMs },
    },
    ...(authenticator && {
      credentials: { header: authenticator.header, challenge: authenticator.challenge },
    }),
    hear: (message, release) => hear(message, release, { id, host, queue }),
  })
  const endpoint = `${listener.host}:${listener.port}`
  host.started('Starting admission webhook', { endpoint, 'otelcol.component.id': id, cluster })
  const way = {
    transport: 'http',
    get connections() {
      return listening.connections
    },
  }
  return {
    ways: [way],
    async [Symbol.asyncDispose]() {
      await listening[Symbol.asyncDispose]()
      await queue[Symbol.asyncDispose]()
    },
  }
}

function hear(
  message: AdmissionEvent,
  release: () => void,
  { id: receiver, host, queue }: { id: string; host: ReceiverHost; queue: AdmittedQueue },
): void {
  const from = { receiver, transport: 'http' }
  const { clusters, observer, memory } = host
  switch (message.kind) {
    case 'answered':
      if (memory.isRefusing) {
        release()
        clusters.lost(receiver, 1)
      } else queue.add({ ...message, release })
      return
    case 'unreadable':
      clusters.unreadable(receiver, 1, message.reason)
      return
    case 'lost':
      clusters.lost(receiver, 1)
      return
    case 'turnedAway':
      observer.turnedAway({ ...from, reason: message.reason })
      return
    case 'dropped':
      observer.dropped({ ...from, reason: message.reason })
      return
    case 'unread':
      observer.unread(from)
      return
    case 'trouble':
      host.onTrouble(message.reason)
  }
}
