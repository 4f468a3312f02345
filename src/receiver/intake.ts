import type { IngestOutcome, IngestPort, Signal } from '../model/ingest.ts'
import type { Encoding } from '../otlp/export-response.ts'
import { protobufOfJson } from '../otlp/json-to-protobuf.ts'
import { MalformedOtlp } from '../otlp/malformed.ts'
import { credentialOf, type Sender } from '../model/sender.ts'
import type { Authenticator, Checked } from '../trust/authenticator.ts'
import { Flow } from './flow.ts'
import { Flows } from './flows.ts'
import type { InFlight } from './in-flight.ts'
import type { ReceiverObserver, ReceiverTransport } from './observer.ts'

const STOPPED: IngestOutcome = {
  kind: 'failed',
  reason: 'Causeway is shutting down and could not finish in time; send the request again',
}

/** What both transports do with a request once it is read: ingest it, and tell the observer of the answer. */
export class Intake {
  readonly inFlight: InFlight
  /** Without one everybody may send. */
  readonly authenticator: Authenticator | undefined
  readonly #from: { receiver: string; transport: ReceiverTransport }
  readonly #flows: Flows
  readonly #port: IngestPort
  readonly #observer: ReceiverObserver
  readonly #pending = new Set<(outcome: IngestOutcome) => void>()

  constructor(
    settings: { receiver: string; inFlight: InFlight; flows?: Flows; authenticator?: Authenticator },
    transport: ReceiverTransport,
    { port, observer }: { port: IngestPort; observer: ReceiverObserver },
  ) {
    this.inFlight = settings.inFlight
    this.authenticator = settings.authenticator
    this.#from = { receiver: settings.receiver, transport }
    this.#flows = settings.flows ?? new Flows()
    this.#port = port
    this.#observer = observer
  }

  /** Never rejects: a port that does so against its contract counts as failed, so that the sender tries again. */
  async ingest(
    signal: Signal,
    encoding: Encoding,
    body: Uint8Array,
    sender?: Sender,
  ): Promise<IngestOutcome> {
    const { promise, resolve } = Promise.withResolvers<IngestOutcome>()
    this.#pending.add(resolve)
    void this.#outcomeOf(signal, encoding, body, sender).then(resolve)
    const outcome = await promise
    this.#pending.delete(resolve)
    return outcome
  }

  /** Waits no longer for what is being ingested: it counts as failed, though the port may yet store it. */
  stopWaiting(): void {
    for (const resolve of this.#pending) resolve(STOPPED)
  }

  /** `bytes` is the uncompressed size of the request, 0 when it was not read whole. */
  answered(signal: Signal, outcome: IngestOutcome, bytes: number): void {
    this.#observer.answered({ ...this.#from, signal, outcome, bytes })
  }

  /** Tells the observer of a credential that is not known. */
  turnedAway({ reason }: Extract<Checked, { kind: 'unknown' }>): void {
    this.#observer.turnedAway({ ...this.#from, reason })
  }

  async #outcomeOf(
    signal: Signal,
    encoding: Encoding,
    body: Uint8Array,
    sender: Sender | undefined,
  ): Promise<IngestOutcome> {
    try {
      const request = encoding === 'json' ? protobufOfJson(signal, body) : body
      const { length } = request
      const flow = this.#flows.enter(request, sender && credentialOf(sender))
      if (!(flow instanceof Flow)) return flow
      try {
        return await this.#port.ingest(signal, request, sender, flow.id)
      } finally {
        this.#flows.leave(flow, length)
      }
    } catch (error) {
      if (error instanceof MalformedOtlp) return { kind: 'malformed', reason: error.message }
      const reason = error instanceof Error ? error.message : String(error)
      return { kind: 'failed', reason: `the request could not be stored: ${reason}` }
    }
  }
}
