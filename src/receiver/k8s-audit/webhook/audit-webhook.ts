import type { CustomReference } from '../../../model/kubernetes/custom-reference.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { peerOf } from '../../../listeners/peer.ts'
import { arrayIn, isObject, textIn, type Json } from '../../../kubernetes/json-access.ts'
import { parseBounded } from '../../../kubernetes/parse-bounded.ts'
import { errorText } from '../../../model/error-text.ts'
import type { ObservationOutcome } from '../../../model/ports/observation-port.ts'
import { holderOf } from '../../admission/holder-of.ts'
import type { InFlight } from '../../admission/in-flight.ts'
import { answerJson, answerText } from '../../http/answer-text.ts'
import { checkCaller, type CallerRules } from '../../http/check-caller.ts'
import { readBody } from '../../http/read-body.ts'
import type { HttpGuards } from '../../http/serve-http.ts'
import type { SourceObserver } from '../../clusters/source-observer.ts'
import type { StreamReporter } from '../../clusters/stream-reporter.ts'
import { AuditEvents } from '../read-audit-events.ts'

/** So many events are read, and told, at a time. */
const EVENTS_A_TURN = 200
const LEAST_RETRY_S = 1
/** API servers put 400 events into a list; one that tells of a write has some hundred bytes. */
const FREE_EVENTS = 10_000
const BYTES_AN_EVENT = 256

export interface AuditWebhookSettings extends CallerRules, HttpGuards {
  readonly receiver: string
  readonly maxBytes: number
  readonly inFlight: InFlight
  readonly memory: { readonly isRefusing: boolean }
  readonly teller: StreamReporter
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
  readonly observer: SourceObserver
  readonly turnedAway: (reason: string) => void
}

/** Takes the `EventList`s (`audit.k8s.io/v1`) that an API server posts, and answers once they are stored. */
export class AuditWebhook {
  readonly #settings: AuditWebhookSettings
  readonly #stopped = Promise.withResolvers<ObservationOutcome>()

  constructor(settings: AuditWebhookSettings) {
    this.#settings = settings
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { inFlight, memory, maxBytes, awaited, pace, turnedAway } = this.#settings
    const caller = await checkCaller(request, this.#settings)
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
    const holder = holderOf(caller.sender, peerOf(request.socket.remoteAddress))
    using reservation = inFlight.open(holder)
    if (memory.isRefusing) {
      request.resume()
      answerLater(response, 1_000, 'memory is short')
      return
    }
    const body = await readBody(request, { maxBytes, reservation, awaited, pace })
    reservation.isRead()
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

  /** Waits no longer for what is being stored: the API server sends it again. */
  giveUp(): void {
    this.#stopped.resolve({ kind: 'failed', reason: 'Causeway is shutting down' })
  }

  async #take(bytes: Buffer, response: ServerResponse): Promise<void> {
    const events = eventsIn(bytes)
    if (typeof events === 'string') {
      answerText(response, 400, events)
      return
    }
    for (let at = 0; at < events.length; at += EVENTS_A_TURN) {
      if (at > 0) await yieldTurn()
      const outcome = await this.#tell(events.slice(at, at + EVENTS_A_TURN))
      if (outcome.kind === 'busy') answerLater(response, outcome.retryAfterMs, outcome.reason)
      else if (outcome.kind === 'failed') answerText(response, 503, outcome.reason)
      // What was stored of the list is known when it comes again.
      if (outcome.kind !== 'stored') return
    }
    answerJson(response, 200, '{}')
  }

  async #tell(some: readonly Json[]): Promise<ObservationOutcome> {
    const { receiver, teller, observer, references } = this.#settings
    const events = new AuditEvents(references)
    for (const event of some) events.add(event)
    const { observations, skipped, unreadable, reason } = events
    const outcome = await Promise.race([teller.tell({ observations, skipped }), this.#stopped.promise])
    if (outcome.kind === 'stored' && unreadable > 0)
      observer.unreadable(
        receiver,
        unreadable,
        `of the audit events that came, ${unreadable} cannot be read: ${reason}`,
      )
    return outcome
  }
}

/** The events of a list, or what is wrong with it. */
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
