import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { SYSTEM_BACKOFF_CLOCK } from '../../kube/cluster/flow-control.ts'
import { errorText } from '../../model/faults.ts'
import { MIB } from '../../model/time-and-size.ts'
import { serveHttp } from '../http-server.ts'
import { InFlight } from '../in-flight.ts'
import {
  type AdmissionThreadData,
  AdmissionWebhook,
  type AnsweredReview,
  type FromAdmission,
  MainThreadAuthenticator,
  type ToAdmission,
} from './admission-webhook.ts'

/** How many bytes of reviews may wait to be processed. */
const MAX_BYTES = 32 * MIB
/** Longer than the 90 s for which API servers keep an idle connection: closing it earlier could lose a review on its way. */
const IDLE_MS = 120_000
const COUNT_MS = 500

/** Answers reviews, and posts them to the main thread. */
async function run(port: MessagePort): Promise<void> {
  const { listener, maxBytes, credentials } = workerData as AdmissionThreadData
  const post = (message: FromAdmission): void => port.postMessage(message)
  const authenticator = credentials && new MainThreadAuthenticator(credentials, post)
  const held = new Map<number, () => void>()
  let lastId = 0
  const handOver = ({ release, body, ...answered }: AnsweredReview): void => {
    const id = ++lastId
    held.set(id, release)
    port.postMessage({ kind: 'answered', id, body, ...answered } satisfies FromAdmission, [body.buffer])
  }
  const served = {
    ...listener,
    idleTimeoutMs: IDLE_MS,
    onTrouble: (reason: string) => post({ kind: 'trouble', reason }),
    ...(authenticator && { authenticator }),
  }
  const purpose = { what: 'admission reviews', setting: 'endpoint' }
  const running = await serveHttp(served, purpose, (guards) => {
    const webhook = new AdmissionWebhook({
      ...guards,
      ...{ maxBytes, authenticator, host: listener.host, inFlight: new InFlight(MAX_BYTES) },
      now: () => SYSTEM_BACKOFF_CLOCK.now(),
      handOver,
      unreadable: (reason) => post({ kind: 'unreadable', reason }),
      lost: () => post({ kind: 'lost' }),
      turnedAway: (reason) => post({ kind: 'turnedAway', reason }),
    })
    return {
      answer: (request, response) => webhook.answer(request, response),
      // The webhook never makes an API server wait.
      giveUp: () => undefined,
      dropped: (reason) => post({ kind: 'dropped', reason }),
      unread: () => post({ kind: 'unread' }),
    }
  })
  let count = 0
  const counting = setInterval(() => {
    if (running.connections === count) return
    count = running.connections
    post({ kind: 'connections', count })
  }, COUNT_MS)
  const stop = async (): Promise<void> => {
    clearInterval(counting)
    await running[Symbol.asyncDispose]()
    post({ kind: 'stopped' })
    port.close()
  }
  port.on('message', (message: ToAdmission) => {
    switch (message.kind) {
      case 'checked':
        authenticator?.answer(message.id, message.checked)
        return
      case 'released':
        held.get(message.id)?.()
        held.delete(message.id)
        return
      case 'stop':
        void stop()
    }
  })
  post({ kind: 'ready' })
}

if (parentPort !== null) {
  const port = parentPort
  try {
    await run(port)
  } catch (error) {
    port.postMessage({ kind: 'fatal', reason: errorText(error) } satisfies FromAdmission)
    port.close()
  }
}
