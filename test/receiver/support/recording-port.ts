import { EventEmitter, once } from 'node:events'
import type { IngestOutcome, IngestPort, Sender, Signal } from '../../../src/model/otlp-requests.ts'

export const ACCEPTED: IngestOutcome = { kind: 'accepted', stored: 1, rejected: 0, message: '' }

/** An IngestPort that remembers what it was given and answers as told. */
export class RecordingPort implements IngestPort {
  readonly requests: { signal: Signal; request: Buffer; sender?: Sender }[] = []
  answer: (request: Buffer) => IngestOutcome | Promise<IngestOutcome>
  readonly #arrivals = new EventEmitter()

  constructor(answer: IngestOutcome | RecordingPort['answer'] = ACCEPTED) {
    this.answer = typeof answer === 'function' ? answer : () => answer
  }

  async ingest(signal: Signal, request: Uint8Array, sender?: Sender): Promise<IngestOutcome> {
    const copy = Buffer.from(request)
    this.requests.push({ signal, request: copy, ...(sender && { sender }) })
    this.#arrivals.emit('request')
    return this.answer(copy)
  }

  /** Resolves once this many requests have come. */
  async received(count: number): Promise<void> {
    while (this.requests.length < count) await once(this.#arrivals, 'request')
  }
}

/** A port that answers nothing until it is released. */
export function holdingPort(): { port: RecordingPort; release: () => void } {
  const { promise, resolve } = Promise.withResolvers<IngestOutcome>()
  return { port: new RecordingPort(() => promise), release: () => resolve(ACCEPTED) }
}
