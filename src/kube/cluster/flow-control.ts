import { setTimeout as delay } from 'node:timers/promises'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'

/** Time and randomness for requests to an API server. Tests pass their own. */
export interface BackoffClock {
  now(): UnixNanos
  /** Resolves after this time, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** From 0 to 1. */
  random(): number
}

export const SYSTEM_BACKOFF_CLOCK: BackoffClock = {
  now: () => nanosOfMs(Date.now()),
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
  random: () => Math.random(),
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** The longest Retry-After that is honoured. */
const LONGEST_ASKED_MS = 300_000

/** Exponential backoff with jitter, so that many clients of a failed server do not return at once. */
export class Backoff {
  readonly #waiting: BackoffClock
  #next = FIRST_PAUSE_MS

  constructor(waiting: BackoffClock) {
    this.#waiting = waiting
  }

  /** Waits at least the given time, up to five minutes, and up to twice the current backoff. */
  async pause(signal: AbortSignal, atLeastMs = 0): Promise<void> {
    const due = this.#next * (1 + this.#waiting.random())
    this.#next = Math.min(this.#next * 2, LONGEST_PAUSE_MS)
    await this.#waiting.sleep(Math.max(due, Math.min(atLeastMs, LONGEST_ASKED_MS)), signal)
  }

  /** The request succeeded. */
  over(): void {
    this.#next = FIRST_PAUSE_MS
  }
}

/** A server that several streams request and none reaches. Once one of them succeeds, all stop waiting, so that all resume soon. */
export class Outage {
  #ends: AbortController | undefined

  /** Waits for the backoff, but no longer than the outage lasts. */
  async wait(pauses: Backoff, signal: AbortSignal): Promise<void> {
    this.#ends ??= new AbortController()
    await pauses.pause(AbortSignal.any([signal, this.#ends.signal]))
  }

  /** The server was reached. */
  over(): void {
    const ends = this.#ends
    this.#ends = undefined
    ends?.abort()
  }
}

const FIRST_REFUSAL_PAUSE_MS = 1_000
/** How many refusals in a row are tolerated for a resource that could be read before: about ten seconds. */
const TOLERATED = 3

/**
 * Backs off from refusals. An API server that has just started may refuse permitted requests until it has loaded its RBAC rules, so the
 * first retries are soon, and later ones less and less often.
 */
export class RefusalBackoff {
  readonly #waiting: BackoffClock
  readonly #longestMs: number
  #inARow = 0
  #isReported = false

  constructor(waiting: BackoffClock, longestMs: number) {
    this.#waiting = waiting
    this.#longestMs = longestMs
  }

  /** Counts a refusal. True if it is to be reported. */
  shouldReport(wasSeenBefore: boolean): boolean {
    this.#inARow++
    this.#isReported ||= !wasSeenBefore || this.#inARow > TOLERATED
    return this.#isReported
  }

  /** Waits until the next retry. */
  async pause(signal: AbortSignal): Promise<void> {
    const due = FIRST_REFUSAL_PAUSE_MS * 2 ** (this.#inARow - 1) * (1 + this.#waiting.random())
    await this.#waiting.sleep(Math.min(due, this.#longestMs), signal)
  }

  /** The resource can be read again. True if a refusal had been reported. */
  over(): boolean {
    const wasReported = this.#isReported
    this.#inARow = 0
    this.#isReported = false
    return wasReported
  }
}

/** Limits the number of concurrent lists. Others wait for their turn in order of arrival. */
export class ListSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves with a function that frees the slot, which may be called twice. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isMine = true
    return () => {
      if (!isMine) return
      isMine = false
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

/** Delivers items in order of arrival. Items that arrive during a delivery are delivered together. */
export class OrderedDelivery<Item> {
  readonly #take: (items: readonly Item[], version: string | undefined) => Promise<void>
  readonly #maxItems: number
  readonly #maxBytes: number
  #items: Item[] = []
  #bytes = 0
  #version: string | undefined
  #taking: Promise<void> | undefined

  constructor(
    take: (items: readonly Item[], version: string | undefined) => Promise<void>,
    { maxItems, maxBytes }: { maxItems: number; maxBytes: number },
  ) {
    this.#take = take
    this.#maxItems = maxItems
    this.#maxBytes = maxBytes
  }

  /** `bytes` is its length. `version`, if given, is how far the stream is read with it. */
  add(item: Item | undefined, bytes: number, version: string | undefined): void {
    if (item !== undefined) {
      this.#items.push(item)
      this.#bytes += bytes
    }
    this.#version = version ?? this.#version
  }

  /** Resolves once there is room for more. Rejects with the error that stopped the delivery. */
  async room(): Promise<void> {
    if (this.#items.length === 0 && this.#version === undefined) return
    const taking = (this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined)))
    if (this.#items.length >= this.#maxItems || this.#bytes >= this.#maxBytes) await taking
    // A later call of `room` or `drained` reports the error.
    else taking.catch(() => undefined)
  }

  /** Resolves once all items are taken. */
  async drained(): Promise<void> {
    while (this.#taking !== undefined || this.#items.length > 0 || this.#version !== undefined) {
      this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined))
      await this.#taking
    }
  }

  async #takeAll(): Promise<void> {
    while (this.#items.length > 0 || this.#version !== undefined) {
      const [items, version] = [this.#items, this.#version]
      this.#items = []
      this.#bytes = 0
      this.#version = undefined
      await this.#take(items, version)
    }
  }
}
