import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  setImmediate as nextTurn,
  setTimeout as sleep,
  setImmediate as yieldTurn,
} from 'node:timers/promises'
import { arrayIn, isObject, type Json, parseBounded, textIn } from '../../kube/objects/object-json.ts'
import { errorText } from '../../model/faults.ts'
import type { ReadingRules } from '../../model/kubernetes-objects.ts'
import type { ObservationOutcome } from '../../model/kubernetes-observations.ts'
import { peerOf } from '../../platform/connections.ts'
import { readBody } from '../request-body.ts'
import {
  answerJson,
  answerText,
  checkWebhookCaller,
  type HttpGuards,
  serveHttp,
  type WebhookCallerRules,
} from '../http-server.ts'
import { budgetHolderOf, type InFlight } from '../in-flight.ts'
import { ObservationReporter } from '../observation-reporter.ts'
import type {
  ReceiverHost,
  RunningReceiver,
  SourceObserver,
  StartedWith,
  ReceiverListener,
} from '../receiver-type.ts'
import { AuditEvents, LogFollower } from './audit-log.ts'
import type { AuditLogSettings, AuditWebhookConfig, K8sAuditSettings } from './k8s-audit-receiver.ts'

/** How much of a log is read at a time, in bytes. */
const TURN_BYTES = 262_144
/** How long to wait before an unreadable file is retried, in milliseconds. */
const RETRY_MS = 1_000

/** Starts to follow the log and to listen for the webhook. */
export async function startReceiver(
  { id, settings: { cluster, log, webhook } }: StartedWith<K8sAuditSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  await using open = new AsyncDisposableStack()
  const reporterOf = (stream: string): ObservationReporter =>
    new ObservationReporter({
      ...{ receiver: id, cluster, stream, port: host.observationPort },
      ...{ memory: host.memory, observer: host.clusterObserver, onTrouble: host.onTrouble },
    })
  const listeners: ReceiverListener[] = []
  if (webhook !== undefined) {
    const running = open.use(await listenForEvents(id, webhook, reporterOf(`${id} webhook`), host))
    listeners.push({
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
    open.use(followLog(id, log, reporterOf(`${id} log`), host))
    host.started('Starting to follow an audit log', { path: log.path, 'otelcol.component.id': id, cluster })
  }
  const opened = open.move()
  return { listeners, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function listenForEvents(
  receiver: string,
  { auth, maxBytes, ...listener }: AuditWebhookConfig,
  reporter: ObservationReporter,
  host: ReceiverHost,
) {
  const { authenticator } = host.authenticatorOf(auth === undefined ? {} : { auth })
  const from = { receiver, transport: 'http' }
  const settings = { ...host, ...listener, receiver, ...(authenticator && { authenticator }) }
  return serveHttp(settings, { what: 'audit events', setting: 'webhook::endpoint' }, (guards) => {
    const taker = new AuditWebhook({
      ...guards,
      ...{ receiver, reporter, authenticator, maxBytes, host: listener.host },
      ...{ inFlight: host.inFlight, memory: host.memory, observer: host.clusterObserver },
      reading: host.reading,
      turnedAway: (reason) => host.observer.unauthenticated({ ...from, reason }),
    })
    return {
      answer: (request, response) => taker.answer(request, response),
      giveUp: () => taker.giveUp(),
      dropped: (reason) => host.observer.dropped({ ...from, reason }),
      unread: () => host.observer.unread(from),
    }
  })
}

/** Follows the log until disposed, which waits for the read in progress to be stored or aborted. */
function followLog(
  receiver: string,
  { pollMs, ...settings }: AuditLogSettings,
  reporter: ObservationReporter,
  { clusterObserver: clusters, reading, onTrouble }: ReceiverHost,
): AsyncDisposable {
  const stop = new AbortController()
  const { signal } = stop
  const trouble = (reason: string): void => onTrouble(`${receiver}: ${reason}`)
  const follower = new LogFollower(
    { ...settings, turnBytes: TURN_BYTES, reading },
    {
      position: () => reporter.position(),
      report: (read) =>
        reporter.reportUntilStored(read, signal).then(
          () => true,
          () => false,
        ),
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

/** A function, since `aborted` changes during an await. */
const isOver = (signal: AbortSignal): boolean => signal.aborted

/** How many events, and how many writes, are reported at a time: an event that deletes a collection is many writes. */
const EVENTS_A_TURN = 200
const WRITES_A_TURN = 1_000
const LEAST_RETRY_S = 1
/** Limits the events in a list. API servers send up to 400; an event with a write has several hundred bytes. */
const FREE_EVENTS = 10_000
const BYTES_AN_EVENT = 256

interface AuditWebhookSettings extends WebhookCallerRules, HttpGuards {
  readonly receiver: string
  readonly maxBytes: number
  readonly inFlight: InFlight
  readonly memory: { readonly isRefusing: boolean }
  readonly reporter: ObservationReporter
  readonly reading: ReadingRules
  readonly observer: SourceObserver
  readonly turnedAway: (reason: string) => void
}

/** Takes the `EventList`s (`audit.k8s.io/v1`) that an API server posts, and answers once they are stored. */
class AuditWebhook {
  readonly #settings: AuditWebhookSettings
  readonly #stopped = Promise.withResolvers<ObservationOutcome>()

  constructor(settings: AuditWebhookSettings) {
    this.#settings = settings
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { inFlight, memory, maxBytes, awaited, pace, turnedAway } = this.#settings
    const caller = await checkWebhookCaller(request, this.#settings)
    if (caller.kind === 'busy') {
      answerLater(response, caller.retryAfterMs, 'too many callers are being checked')
      return
    }
    if (caller.kind === 'refused') {
      if (caller.status === 401) turnedAway(caller.reason)
      if (caller.header !== undefined) response.setHeader(...caller.header)
      answerText(response, caller.status, caller.reason)
      return
    }
    const holder = budgetHolderOf(caller.sender, peerOf(request.socket.remoteAddress))
    using reservation = inFlight.open(holder)
    if (memory.isRefusing) {
      request.resume()
      answerLater(response, 1_000, 'memory is short')
      return
    }
    const body = await readBody(request, { maxBytes, reservation, awaited, pace })
    reservation.markRead()
    switch (body.kind) {
      case 'hungUp':
        return
      case 'busy':
        if (body.cause === 'time') response.setHeader('Connection', 'close')
        answerLater(response, body.retryAfterMs, body.reason)
        return
      case 'tooLarge':
        answerText(response, 413, body.reason)
        return
      case 'malformed':
      case 'failed':
        answerText(response, 400, body.reason)
        return
      case 'whole':
        await this.#take(body.bytes, response)
    }
  }

  /** Stops waiting for the store: the API server sends the list again. */
  giveUp(): void {
    this.#stopped.resolve({ kind: 'failed', reason: 'Causeway is shutting down' })
  }

  async #take(bytes: Buffer, response: ServerResponse): Promise<void> {
    const events = eventsIn(bytes)
    if (typeof events === 'string') {
      answerText(response, 400, events)
      return
    }
    for (let at = 0; at < events.length;) {
      if (at > 0) await yieldTurn()
      const some = new AuditEvents(this.#settings.reading)
      const end = at + EVENTS_A_TURN
      while (at < Math.min(end, events.length) && some.observations.length < WRITES_A_TURN)
        some.add(events[at++] ?? null)
      const outcome = await this.#report(some)
      if (outcome.kind === 'busy') answerLater(response, outcome.retryAfterMs, outcome.reason)
      else if (outcome.kind === 'failed') answerText(response, 503, outcome.reason)
      // The API server sends the whole list again; events that were stored are recognised then.
      if (outcome.kind !== 'stored') return
    }
    answerJson(response, 200, '{}')
  }

  async #report({ observations, skipped, unreadable, reason }: AuditEvents): Promise<ObservationOutcome> {
    const { receiver, reporter, observer } = this.#settings
    const outcome = await Promise.race([reporter.report({ observations, skipped }), this.#stopped.promise])
    if (outcome.kind === 'stored' && unreadable > 0)
      observer.unreadable(
        receiver,
        unreadable,
        `of the audit events that came, ${unreadable} cannot be read: ${reason}`,
      )
    return outcome
  }
}

/** The events of a list, or why it is refused. */
function eventsIn(bytes: Buffer): readonly Json[] | string {
  let list: Json
  try {
    list = parseBounded(bytes)
  } catch (error) {
    return `the body cannot be read: ${errorText(error)}`
  }
  const isList = isObject(list) && textIn(list, 'kind') === 'EventList' && Array.isArray(list.items)
  if (!isList || !textIn(list, 'apiVersion').startsWith('audit.k8s.io/'))
    return 'the body is no EventList of audit.k8s.io/v1; is the webhook of the audit backend meant to come here?'
  const events = arrayIn(list, 'items')
  const most = FREE_EVENTS + Math.floor(bytes.length / BYTES_AN_EVENT)
  return events.length <= most
    ? events
    : `the list holds ${events.length} events in ${bytes.length} bytes, and ${most} are taken; lower --audit-webhook-batch-max-size of the API server`
}

function answerLater(response: ServerResponse, afterMs: number, reason: string): void {
  response.setHeader('Retry-After', Math.max(LEAST_RETRY_S, Math.ceil(afterMs / 1_000)))
  answerText(response, 429, reason)
}
