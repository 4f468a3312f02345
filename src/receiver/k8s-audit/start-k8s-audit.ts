import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../model/error-text.ts'
import { serveHttp } from '../http/serve-http.ts'
import { StreamReporter } from '../clusters/stream-reporter.ts'
import type { ReceiverHost, RunningReceiver, StartedWith, Way } from '../receiver-type.ts'
import type { AuditLogSettings, AuditWebhookConfig, K8sAuditSettings } from './k8s-audit-receiver.ts'
import { LogFollower } from './log/log-follower.ts'
import { AuditWebhook } from './webhook/audit-webhook.ts'

/** How much of a log is read at a time, in bytes. */
const TURN_BYTES = 262_144
/** After a file could not be read, so long until it is tried again, in milliseconds. */
const RETRY_MS = 1_000

/** Begins to follow the log, and listens for what is posted. */
export async function startReceiver(
  { id, settings: { cluster, log, webhook } }: StartedWith<K8sAuditSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  await using open = new AsyncDisposableStack()
  const tellerOf = (stream: string): StreamReporter =>
    new StreamReporter({
      ...{ receiver: id, cluster, stream, port: host.inference },
      ...{ memory: host.memory, observer: host.clusters, onTrouble: host.onTrouble },
    })
  const ways: Way[] = []
  if (webhook !== undefined) {
    const running = open.use(await listenForEvents(id, webhook, tellerOf(`${id} webhook`), host))
    ways.push({
      transport: 'http',
      get connections() {
        return running.connections
      },
    })
    host.started('Starting audit webhook', {
      endpoint: `${webhook.host}:${webhook.port}`,
      ...{ 'otelcol.component.id': id, cluster },
    })
  }
  if (log !== undefined) {
    open.use(followLog(id, log, tellerOf(`${id} log`), host))
    host.started('Starting to follow an audit log', { path: log.path, 'otelcol.component.id': id, cluster })
  }
  const opened = open.move()
  return { ways, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function listenForEvents(
  receiver: string,
  { auth, maxBytes, ...listener }: AuditWebhookConfig,
  teller: StreamReporter,
  host: ReceiverHost,
) {
  const { authenticator } = host.authenticatorOf(auth === undefined ? {} : { auth })
  const from = { receiver, transport: 'http' }
  const settings = { ...host, ...listener, receiver, ...(authenticator && { authenticator }) }
  return serveHttp(settings, { what: 'audit events', setting: 'webhook::endpoint' }, (guards) => {
    const taker = new AuditWebhook({
      ...guards,
      ...{ receiver, teller, authenticator, maxBytes, host: listener.host },
      ...{ inFlight: host.inFlight, memory: host.memory, observer: host.clusters },
      references: host.references,
      turnedAway: (reason) => host.observer.turnedAway({ ...from, reason }),
    })
    return {
      answer: (request, response) => taker.answer(request, response),
      giveUp: () => taker.giveUp(),
      dropped: (reason) => host.observer.dropped({ ...from, reason }),
      unread: () => host.observer.unread(from),
    }
  })
}

/** Disposing ends it, once what is being read is stored or given up. */
function followLog(
  receiver: string,
  { pollMs, ...settings }: AuditLogSettings,
  teller: StreamReporter,
  { clusters, references, onTrouble }: ReceiverHost,
): AsyncDisposable {
  const stop = new AbortController()
  const { signal } = stop
  const trouble = (reason: string): void => onTrouble(`${receiver}: ${reason}`)
  const follower = new LogFollower(
    { ...settings, turnBytes: TURN_BYTES, references },
    {
      position: () => teller.position(),
      tell: (told) => teller.tellUntilStored(told, signal),
      unreadable: (count, reason) => clusters.unreadable(receiver, count, reason),
      behind: (bytes) => clusters.behind(receiver, bytes),
      onTrouble: trouble,
    },
  )
  const following = (async () => {
    while (!signal.aborted)
      try {
        if (await follower.look()) await nextTurn()
        else await sleep(pollMs, undefined, { signal }).catch(() => undefined)
      } catch (error) {
        if (!isOver(signal))
          trouble(
            `${settings.path} cannot be read now: ${errorText(error)}; it is tried again (causeway doctor says what to do)`,
          )
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await following
      await follower[Symbol.asyncDispose]()
    },
  }
}

/** Asked anew each time: it changes while something is awaited. */
const isOver = (signal: AbortSignal): boolean => signal.aborted
