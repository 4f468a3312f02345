import { CPID_ID, CPID_ORIGINAL_TRACE_ID } from '../model/attributes.ts'
import { isOutOfMemory, reasonOf } from '../model/faults.ts'
import type { LogOutboxItem, LogOutboxReader } from '../model/linking-ports.ts'
import { encodeAttribute } from '../model/otlp/encode-telemetry.ts'
import {
  buildRequest,
  hasOwnAttribute,
  orAsStored,
  outgoingSpan,
  patchLog,
  type ReadyItem,
  traceIdOfLog,
} from '../model/otlp/outgoing-records.ts'
import type { MetricOutboxReader } from '../model/pod-stats.ts'
import type { OutboxReader, ScopeEnvelopes, Transport } from '../model/outbox.ts'
import { sleep as realSleep, type Sleep } from './open-transport.ts'

interface DrainSettings {
  /** Spans or log records a request holds at most. */
  batchMaxItems: number
  /** Bytes a request holds at most, unless one item is larger. */
  batchMaxBytes: number
  /** Requests in flight at once. */
  consumers: number
}

export interface DrainProgress {
  /** Every decision up to here was delivered or refused for good. */
  position: number
  delivered: number
  refused: number
}

interface DrainHooks {
  onProgress: (progress: DrainProgress) => void
  onDrop: (dropped: { items: number; reason: string }) => void
  onInFlight: (requests: number) => void
  /** Called when the outbox cannot be read, which is retried; with undefined once it can be again. */
  onUnreadable: (error: unknown) => void
  /** Called with decisions that are skipped, since their bytes cannot be built. */
  onBroken: (broken: readonly BrokenDecision[]) => void
}

export interface BrokenDecision {
  readonly decision: number
  readonly reason: string
}

/** A decision and the bytes of the span, log record or part of metrics it sends; undefined when that has been pruned. */
interface Outgoing {
  readonly decision: number
  readonly scope: number
  readonly bytes: Buffer | undefined
  /** How many items it has, if more than one. */
  readonly count?: number
  /** Why the bytes cannot be built. */
  readonly broken?: string
}

/** The outbox of one signal. */
export interface OutgoingItems {
  /** At most `limit` decisions after `position`, in order. */
  after(position: number, limit: number): Outgoing[]
  envelopes(scope: number): ScopeEnvelopes | undefined
  /** Builds a request, if that is not done with envelopes. */
  encode?(items: readonly ReadyItem[]): Uint8Array
}

/** An item that is ready to be sent. */
interface BatchItem extends ReadyItem {
  readonly count: number
}

/** The pause before an unreadable outbox is read again. */
const READ_AGAIN_MS = 5_000

interface Batch {
  upTo: number
  items: BatchItem[]
  /** The sum of `count` of its items. */
  count: number
  /** Scopes of its items while it is in flight: retention may remove them meanwhile. */
  scopes: Map<number, ScopeEnvelopes | undefined>
}

/**
 * Sends the outbox to one backend, in order, from its position. The position moves past a request only after all earlier ones
 * are done, so a crash repeats requests but loses none; a repeated item is identical.
 */
export class Drain {
  readonly #settings: DrainSettings
  readonly #outbox: OutgoingItems
  readonly #transport: Transport
  readonly #hooks: DrainHooks
  readonly #sleep: Sleep
  #isUnreadable = false
  #readUpTo: number
  #position: number
  #inFlight: Promise<void>[] = []
  #woken = Promise.withResolvers<undefined>()
  /** A batch was left unfinished. */
  #isHeld = false
  #isFinishing = false

  constructor(
    settings: DrainSettings,
    position: number,
    outbox: OutgoingItems,
    transport: Transport,
    hooks: DrainHooks,
    sleep: Sleep = realSleep,
  ) {
    this.#sleep = sleep
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

  /** Ends `run` once what is in flight has been sent. */
  finish(): void {
    this.#isFinishing = true
    this.wake()
  }

  /** Sends until finished, or until the signal aborts; requests then in flight are repeated after a restart. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = (): boolean => signal.aborted || this.#isFinishing
    const wake = (): void => this.wake()
    signal.addEventListener('abort', wake, { once: true })
    while (!stopped()) {
      this.#woken = Promise.withResolvers<undefined>()
      const batches = this.#readable()
      if (batches === undefined) {
        await this.#sleep(READ_AGAIN_MS, signal)
        continue
      }
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

  /** Sends a batch, then moves the position after every earlier batch has. */
  async #send(batch: Batch, signal: AbortSignal, before: Promise<void>): Promise<void> {
    const outcome = await sendSplitting(batch.items, {
      encode: (items) =>
        this.#outbox.encode?.(items) ??
        buildRequest(items, { envelopes: (scope) => batch.scopes.get(scope) }),
      countOf: ({ count }) => count,
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

  /** The next batches; undefined when the outbox cannot be read now. */
  #readable(): Batch[] | undefined {
    try {
      const batches = this.#nextBatches()
      if (this.#isUnreadable) this.#hooks.onUnreadable(undefined)
      this.#isUnreadable = false
      return batches
    } catch (error) {
      this.#isUnreadable = true
      this.#hooks.onUnreadable(error)
      return undefined
    }
  }

  #nextBatches(): Batch[] {
    const { batchMaxItems, batchMaxBytes, consumers } = this.#settings
    const items = this.#outbox.after(this.#readUpTo, batchMaxItems * Math.min(consumers, 2))
    const batches: Batch[] = []
    const passedOver: BrokenDecision[] = []
    let batch: Batch | undefined
    let bytesOfBatch = 0
    for (const { decision, scope, bytes, broken, count = 1 } of items) {
      const length = bytes?.length ?? 0
      if (batch === undefined || batch.count >= batchMaxItems || bytesOfBatch + length > batchMaxBytes) {
        batch = { upTo: decision, items: [], count: 0, scopes: new Map() }
        batches.push(batch)
        bytesOfBatch = 0
      }
      batch.upTo = decision
      bytesOfBatch += length
      if (bytes !== undefined) {
        batch.items.push({ scope, bytes, count })
        batch.count += count
        if (!batch.scopes.has(scope)) batch.scopes.set(scope, this.#outbox.envelopes(scope))
      }
      if (broken !== undefined) passedOver.push({ decision, reason: broken })
    }
    if (passedOver.length > 0) this.#hooks.onBroken(passedOver)
    this.#readUpTo = items.at(-1)?.decision ?? this.#readUpTo
    return batches
  }
}

/**
 * The outcome of a batch, in items.
 * - done: every item was delivered or refused for good.
 * - unfinished: some items have no outcome; send the whole batch again later.
 */
export type SplitOutcome = { kind: 'done'; delivered: number; refused: number } | { kind: 'unfinished' }

interface SplitTools<Item> {
  /** Builds the request of some items, each of which must be one span or one log record in it. */
  encode: (items: readonly Item[]) => Uint8Array
  transport: Transport
  signal: AbortSignal
  /** How many spans, log records or data points an item is; one unless given. */
  countOf?: (item: Item) => number
  /** Called for each final refusal; log it as `DROPPING`. */
  onDrop?: (dropped: { items: number; reason: string }) => void
}

/**
 * Sends a batch and halves it after a refusal that may concern only some items, so that only items which the backend refuses
 * alone are skipped. Parts are sent one after another, in order.
 */
export async function sendSplitting<Item>(
  items: readonly Item[],
  { encode, transport, signal, onDrop, countOf = () => 1 }: SplitTools<Item>,
): Promise<SplitOutcome> {
  let delivered = 0
  let refused = 0
  const drop = (count: number, reason: string): void => {
    refused += count
    onDrop?.({ items: count, reason })
  }

  const waiting = items.length === 0 ? [] : [items]
  const sum = (part: readonly Item[]): number => part.reduce((count, item) => count + countOf(item), 0)
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const outcome = await transport.send(encode(part), signal)
    switch (outcome.kind) {
      case 'delivered': {
        const lost = Math.min(outcome.refused, sum(part))
        delivered += sum(part) - lost
        if (lost > 0) drop(lost, outcome.message)
        break
      }
      case 'retry':
        return { kind: 'unfinished' }
      case 'refused':
        if (outcome.splittable && part.length > 1) {
          const middle = Math.ceil(part.length / 2)
          waiting.push(part.slice(middle), part.slice(0, middle))
        } else {
          drop(sum(part), outcome.reason)
        }
    }
  }
  return { kind: 'done', delivered, refused }
}

export function outgoingSpans(outbox: OutboxReader): OutgoingItems {
  return {
    after: (position, limit) => outbox.after(position, limit).map((item) => outgoing(item, outgoingSpan)),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}

/**
 * The bytes of the log record of a decision, always the same. Undefined when it was pruned. A damaged record is sent as stored,
 * as a span is.
 */
export function outgoingLog(item: LogOutboxItem): Buffer | undefined {
  return orAsStored(item, patched)
}

function patched({ raw, traceId, withoutSpanId, inherited }: LogOutboxItem): Buffer | undefined {
  if (raw === undefined || (traceId === undefined && inherited === undefined && !withoutSpanId)) return raw
  const attributes: Uint8Array[] = []
  // A record from another Causeway already has its original trace id, and a key may occur once.
  const isNamed = traceId === undefined || hasOwnAttribute(raw, CPID_ORIGINAL_TRACE_ID)
  const original = isNamed ? undefined : traceIdOfLog(raw)
  if (original !== undefined)
    attributes.push(encodeAttribute(CPID_ORIGINAL_TRACE_ID, original.toString('hex')))
  if (inherited !== undefined) attributes.push(encodeAttribute(CPID_ID, inherited))
  return patchLog(raw, { traceId, withoutSpanId, attributes })
}

export function outgoingLogs(outbox: LogOutboxReader): OutgoingItems {
  return {
    after: (position, limit) => outbox.after(position, limit).map((item) => outgoing(item, outgoingLog)),
    envelopes: (scope) => outbox.envelopes(scope),
  }
}

/** The outbox of metrics: the concatenated bytes of its rows are a request. */
export function outgoingMetrics(outbox: MetricOutboxReader): OutgoingItems {
  return {
    after: (position, limit) =>
      outbox.after(position, limit).map(({ decision, points, request }) => ({
        ...{ decision, scope: 0, bytes: request, count: points },
      })),
    envelopes: () => undefined,
    encode: (items) => Buffer.concat(items.map(({ bytes }) => bytes)),
  }
}

interface Decision {
  readonly decision: number
  readonly scope: number
}

/** Builds the bytes of a decision. One that cannot be built is skipped with the reason, so that it does not hold up the rest. */
function outgoing<Item extends Decision>(item: Item, build: (item: Item) => Buffer | undefined): Outgoing {
  const { decision, scope } = item
  try {
    return { decision, scope, bytes: build(item) }
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return { decision, scope, bytes: undefined, broken: reasonOf(error) }
  }
}
