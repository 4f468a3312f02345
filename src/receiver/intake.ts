import { errorText } from '../model/faults.ts'
import {
  credentialOf,
  type IngestOutcome,
  type IngestPort,
  type Sender,
  type Signal,
} from '../model/otlp-requests.ts'
import { protobufOfJson } from '../model/otlp/json-to-protobuf.ts'
import { MalformedOtlp } from '../model/otlp/protobuf-wire.ts'
import type { Encoding } from '../model/otlp/responses.ts'
import type { DropReason } from '../platform/connections.ts'
import type { Authenticator, Checked } from '../platform/credentials.ts'
import type { Refusal } from './answer-statuses.ts'
import { Flow, Flows } from './flows.ts'
import { BUDGET_EXHAUSTED, type InFlight, type Reservation, WINDOW_BYTES } from './in-flight.ts'
import type { ReceiverSettings } from './listener.ts'
import type { ReceiverObserver, ReceiverTransport } from './receiver-type.ts'

const STOPPED: IngestOutcome = {
  kind: 'failed',
  reason: 'Causeway is shutting down and could not finish in time; send the request again',
}

/** Where a request came from. */
export interface Origin {
  sender?: Sender | undefined
  /** The same object for every request of one connection. */
  connection: object
}

/** What gRPC and HTTP do with a request once it is read: check its flow, hand it to the store, and report the answer. */
export class Intake {
  readonly inFlight: InFlight
  /** Undefined when anybody may send. */
  readonly authenticator: Authenticator | undefined
  readonly #from: { receiver: string; transport: ReceiverTransport }
  readonly #memory: { readonly isRefusing: boolean } | undefined
  readonly #flows: Flows
  readonly #pauses = new Waits(PAUSE_MS)
  readonly #roomWaits: Waits
  readonly #chance: () => number
  readonly #port: IngestPort
  readonly #observer: ReceiverObserver
  readonly #pending = new Set<(outcome: IngestOutcome) => void>()

  constructor(
    settings: Pick<
      ReceiverSettings,
      'receiver' | 'inFlight' | 'flows' | 'memory' | 'authenticator' | 'chance'
    >,
    transport: ReceiverTransport,
    { port, observer }: { port: IngestPort; observer: ReceiverObserver },
  ) {
    this.inFlight = settings.inFlight
    this.authenticator = settings.authenticator
    this.#from = { receiver: settings.receiver, transport }
    this.#memory = settings.memory
    this.#flows = settings.flows ?? new Flows()
    this.#roomWaits = new Waits(this.#flows.longestWaitMs)
    this.#chance = settings.chance ?? Math.random
    this.#port = port
    this.#observer = observer
  }

  /**
   * Decides before a request's body is read whether it must be retried. Calls `begin` once: with the refusal, or with the function
   * to call when reading ends. If its flow is full, the request first waits for room, unread, so that a sender that retries at once
   * takes no time from others.
   */
  admit(
    connection: object,
    reservation: Reservation,
    begin: (admitted: Refusal | (() => void)) => void,
  ): void {
    const from = this.#flows.connectionOf(connection)
    from.address = reservation.holder
    const decided = (): Refusal | (() => void) => {
      if (this.#memory?.isRefusing === true) return MEMORY_SHORT
      return reservation.fits(1) ? this.#flows.beginReading(from) : BUDGET_EXHAUSTED
    }
    const { flow } = from
    if (this.#memory?.isRefusing === true || !(flow instanceof Flow) || !this.#flows.isFull(flow)) {
      begin(decided())
      return
    }
    // Bytes of an unread request that have arrived are in memory too.
    const unread = this.inFlight.open(reservation.holder)
    if (!unread.take(WINDOW_BYTES)) {
      begin(decided())
      return
    }
    const goOn = this.#roomWaits.add(() => {
      unread[Symbol.dispose]()
      begin(decided())
    }, flow.waiting)
    unread.onGiveWay(goOn)
  }

  /**
   * Delays the refusal of a sender over its share, so that a sender that retries at once takes no time from others; and adds
   * jitter to every retry delay.
   */
  async delayRefusal<Outcome extends IngestOutcome>(outcome: Outcome): Promise<Outcome> {
    if (isOverShare(outcome)) await new Promise<void>((resolve) => this.#pauses.add(resolve))
    return jitterRetry(outcome, this.#chance())
  }

  /** Never rejects: a port that rejects counts as failed, so that the sender tries again. */
  async ingest(signal: Signal, encoding: Encoding, body: Uint8Array, origin: Origin): Promise<IngestOutcome> {
    const { promise, resolve } = Promise.withResolvers<IngestOutcome>()
    this.#pending.add(resolve)
    void this.#outcomeOf(signal, encoding, body, origin).then(resolve)
    const outcome = await promise
    this.#pending.delete(resolve)
    return outcome
  }

  /** Answers all requests in flight as failed, though the port may yet store them. */
  stopWaiting(): void {
    for (const resolve of this.#pending) resolve(STOPPED)
    this.#pauses.end()
    this.#roomWaits.end()
  }

  /** `bytes` is the uncompressed size of the request, 0 when it was not read whole. */
  reportAnswer(signal: Signal, outcome: IngestOutcome, bytes: number): void {
    this.#observer.answered({ ...this.#from, signal, outcome, bytes })
  }

  /** Reports a credential that is not known. */
  unauthenticated({ reason }: Extract<Checked, { kind: 'unknown' }>): void {
    this.#observer.unauthenticated({ ...this.#from, reason })
  }

  /** Reports a connection that was closed at a limit. */
  reportDropped(reason: DropReason): void {
    this.#observer.dropped({ ...this.#from, reason })
  }

  /** Reports an answer that nobody read. */
  reportUnread(): void {
    this.#observer.unread(this.#from)
  }

  async #outcomeOf(
    signal: Signal,
    encoding: Encoding,
    body: Uint8Array,
    { sender, connection }: Origin,
  ): Promise<IngestOutcome> {
    try {
      const request = encoding === 'json' ? protobufOfJson(signal, body) : body
      const { length } = request
      const credential = sender && credentialOf(sender)
      const from = this.#flows.connectionOf(connection)
      const flow = this.#flows.enter(request, credential, from)
      if (!(flow instanceof Flow)) return flow
      try {
        const origin = { ...this.#flows.senderOf(from, credential), flow: flow.id }
        return await this.#port.ingest(signal, request, sender, origin)
      } finally {
        this.#flows.leave(flow, length)
      }
    } catch (error) {
      if (error instanceof MalformedOtlp) return { kind: 'malformed', reason: error.message }
      const reason = errorText(error)
      return { kind: 'failed', reason: `the request could not be stored: ${reason}` }
    }
  }
}

const PAUSE_MS = 100
/** At most this many wait at a time: each keeps a request open. */
const MOST = 2_048

/** Delays callbacks by `longestMs` or less. */
export class Waits {
  readonly #longestMs: number
  readonly #waiting = new Map<() => void, NodeJS.Timeout>()
  #isOver = false

  constructor(longestMs: number) {
    this.#longestMs = longestMs
  }

  /**
   * Calls `then` when the time is over; at once if too many wait, or if waits have ended. Returns a function that ends this wait early, and
   * adds it to `among`.
   */
  add(then: () => void, among?: Set<() => void>): () => void {
    if (this.#isOver || this.#waiting.size >= MOST) {
      then()
      return () => undefined
    }
    const go = (): void => {
      if (!this.#waiting.has(go)) return
      clearTimeout(this.#waiting.get(go))
      this.#waiting.delete(go)
      among?.delete(go)
      then()
    }
    this.#waiting.set(go, setTimeout(go, this.#longestMs))
    among?.add(go)
    return go
  }

  /** Ends every wait; later ones are skipped. */
  end(): void {
    this.#isOver = true
    for (const go of [...this.#waiting.keys()]) go()
  }
}

/** Whether a request is refused because its flow has much waiting. */
function isOverShare(outcome: IngestOutcome): boolean {
  return outcome.kind === 'busy' && outcome.cause === 'flow'
}

/**
 * Adds jitter to the retry delay, up to twice the delay, so that requests refused together do not return together. `chance` is
 * from 0 to 1. A delay that the port set is kept.
 */
function jitterRetry<Outcome extends IngestOutcome>(outcome: Outcome, chance: number): Outcome {
  if (outcome.kind !== 'busy' || outcome.cause === undefined) return outcome
  return { ...outcome, retryAfterMs: Math.round(outcome.retryAfterMs * (1 + chance)) }
}

/** Combines memory limiters: memory is short when any of them refuses. */
export function anyMemory(memories: readonly { readonly isRefusing: boolean }[]): {
  readonly isRefusing: boolean
} {
  return {
    get isRefusing() {
      return memories.some(({ isRefusing }) => isRefusing)
    },
  }
}

/** The answer to a request that comes while memory is short. */
const MEMORY_SHORT: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'memory',
  reason: 'data refused due to high memory usage; send this request again later',
}
