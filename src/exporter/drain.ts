import type { OutboxReader } from '../model/outbox-port.ts'
import type { Transport } from '../model/send-outcome.ts'
import { buildRequest, type ReadySpan } from '../otlp/build-request.ts'
import { outgoingSpan } from '../otlp/outgoing-span.ts'
import { sendSplitting } from './split-refused.ts'

export interface DrainSettings {
  name: string
  /** Spans a request holds at most. */
  batchMaxSpans: number
  /** Bytes a request holds at most, unless one span is larger. */
  batchMaxBytes: number
  /** Requests on their way at once. */
  consumers: number
}

export interface DrainProgress {
  /** Every decision up to here was delivered or refused for good. */
  position: number
  delivered: number
  refused: number
}

export interface DrainHooks {
  onProgress: (progress: DrainProgress) => void
  onDrop: (dropped: { items: number; reason: string }) => void
  onInFlight: (requests: number) => void
}

interface Batch {
  upTo: number
  spans: ReadySpan[]
}

/**
 * Sends the outbox to one backend, in order, from where it stands. The position moves over what every earlier request
 * has settled, so that a crash repeats requests but loses none; a repeated span is identical.
 */
export class Drain {
  readonly #settings: DrainSettings
  readonly #outbox: OutboxReader
  readonly #transport: Transport
  readonly #hooks: DrainHooks
  #readUpTo: number
  #position: number
  #inFlight: Promise<void>[] = []
  #woken = Promise.withResolvers<undefined>()
  /** A batch was left unfinished. */
  #isHeld = false

  constructor(
    settings: DrainSettings,
    position: number,
    outbox: OutboxReader,
    transport: Transport,
    hooks: DrainHooks,
  ) {
    this.#settings = settings
    this.#readUpTo = position
    this.#position = position
    this.#outbox = outbox
    this.#transport = transport
    this.#hooks = hooks
  }

  get position(): number {
    return this.#position
  }

  /** There may be new decisions. */
  wake(): void {
    this.#woken.resolve(undefined)
  }

  /** Sends until the signal aborts; what is on its way then is sent again after a restart. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = (): boolean => signal.aborted
    const wake = (): void => this.wake()
    signal.addEventListener('abort', wake, { once: true })
    while (!stopped()) {
      this.#woken = Promise.withResolvers<undefined>()
      const batches = this.#nextBatches()
      if (batches.length === 0) {
        await this.#woken.promise
        continue
      }
      for (const batch of batches) {
        if (this.#inFlight.length >= this.#settings.consumers) await this.#inFlight[0]
        if (stopped()) break
        this.#start(batch, signal)
      }
    }
    await Promise.all(this.#inFlight)
  }

  #start(batch: Batch, signal: AbortSignal): void {
    const before = this.#inFlight.at(-1) ?? Promise.resolve()
    const done = this.#send(batch, signal, before).finally(() => {
      this.#inFlight = this.#inFlight.filter((other) => other !== done)
      this.#hooks.onInFlight(this.#inFlight.length)
    })
    this.#inFlight.push(done)
    this.#hooks.onInFlight(this.#inFlight.length)
  }

  /** Sends a batch, then moves the position once every earlier batch has moved it. */
  async #send(batch: Batch, signal: AbortSignal, before: Promise<void>): Promise<void> {
    const outcome = await sendSplitting(batch.spans, {
      encode: (spans) => buildRequest(spans, this.#outbox),
      transport: this.#transport,
      signal,
      onDrop: this.#hooks.onDrop,
    })
    await before
    // Only a stop leaves a batch unfinished; later ones then must not move the position over it.
    if (outcome.kind === 'unfinished') this.#isHeld = true
    if (outcome.kind === 'unfinished' || this.#isHeld) return
    this.#position = batch.upTo
    this.#hooks.onProgress({ position: batch.upTo, delivered: outcome.delivered, refused: outcome.refused })
  }

  #nextBatches(): Batch[] {
    const { batchMaxSpans, batchMaxBytes, consumers } = this.#settings
    const items = this.#outbox.after(this.#readUpTo, batchMaxSpans * Math.min(consumers, 2))
    const batches: Batch[] = []
    let batch: Batch | undefined
    let bytes = 0
    for (const item of items) {
      const span = outgoingSpan(item)
      const length = span?.length ?? 0
      if (batch === undefined || batch.spans.length >= batchMaxSpans || bytes + length > batchMaxBytes) {
        batch = { upTo: item.decision, spans: [] }
        batches.push(batch)
        bytes = 0
      }
      batch.upTo = item.decision
      bytes += length
      if (span !== undefined) batch.spans.push({ scope: item.scope, bytes: span })
    }
    this.#readUpTo = items.at(-1)?.decision ?? this.#readUpTo
    return batches
  }
}
