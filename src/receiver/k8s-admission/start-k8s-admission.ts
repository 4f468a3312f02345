import { MACHINE_WAITING } from '../../cluster/waiting.ts'
import { MIB } from '../../model/sizes.ts'
import { InFlight } from '../admission/in-flight.ts'
import { StreamTeller } from '../clusters/stream-teller.ts'
import { serveHttp } from '../http/serve-http.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../receiver-type.ts'
import { AdmissionWebhook } from './admission-webhook.ts'
import { AdmittedQueue } from './admitted-queue.ts'
import type { K8sAdmissionSettings } from './k8s-admission-receiver.ts'

/** What reviews may hold that are read and not told yet. */
const MAX_BYTES = 32 * MIB

/** Listens for reviews. */
export async function startReceiver(
  { id, settings }: StartedWith<K8sAdmissionSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  const { cluster, auth, maxBytes, ...listener } = settings
  const teller = new StreamTeller({
    ...{ receiver: id, cluster, stream: id, port: host.inference },
    ...{ memory: host.memory, observer: host.clusters, onTrouble: host.onTrouble },
  })
  const queue = new AdmittedQueue(id, teller, host.clusters)
  const { authenticator } = host.authenticatorOf(auth === undefined ? {} : { auth })
  const from = { receiver: id, transport: 'http' }
  const served = { ...host, ...listener, receiver: id, ...(authenticator && { authenticator }) }
  const running = await serveHttp(served, { what: 'admission reviews', setting: 'endpoint' }, (guards) => {
    const webhook = new AdmissionWebhook({
      ...guards,
      ...{ receiver: id, authenticator, maxBytes, host: listener.host, queue },
      ...{ inFlight: new InFlight(MAX_BYTES), memory: host.memory, observer: host.clusters },
      now: () => MACHINE_WAITING.now(),
      turnedAway: (reason) => host.observer.turnedAway({ ...from, reason }),
    })
    return {
      answer: (request, response) => webhook.answer(request, response),
      // Whoever asks is never kept waiting.
      giveUp: () => undefined,
      dropped: (reason) => host.observer.dropped({ ...from, reason }),
      unread: () => host.observer.unread(from),
    }
  })
  const endpoint = `${listener.host}:${listener.port}`
  host.started('Starting admission webhook', { endpoint, 'otelcol.component.id': id, cluster })
  const way = {
    transport: 'http',
    get connections() {
      return running.connections
    },
  }
  return {
    ways: [way],
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await queue[Symbol.asyncDispose]()
    },
  }
}
