import { setTimeout as delay } from 'node:timers/promises'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'

/** Time and chance, as far as asking an API server needs them; tests give theirs. */
export interface BackoffClock {
  now(): UnixNanos
  /** Resolves after so long, or as soon as the signal aborts. */
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

/** Longer and longer pauses, so that many who lost the same server do not come back at once. */
export class Backoff {
  readonly #waiting: BackoffClock
  #next = FIRST_PAUSE_MS

  constructor(waiting: BackoffClock) {
    this.#waiting = waiting
  }

  /** Waits at least so long as asked for, and up to twice as long as what is due. */
  async pause(signal: AbortSignal, atLeastMs = 0): Promise<void> {
    const due = this.#next * (1 + this.#waiting.random())
    this.#next = Math.min(this.#next * 2, LONGEST_PAUSE_MS)
    await this.#waiting.sleep(Math.max(due, atLeastMs), signal)
  }

  /** What was asked for came. */
  over(): void {
    this.#next = FIRST_PAUSE_MS
  }
}

/** A server that several ask and none reaches: once one of them does, none waits any longer, so that all are level again soon. */
export class Outage {
  #ends: AbortController | undefined

  /** Waits as the pauses have it, and no longer than the outage lasts. */
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
/** So often in a row is it not believed of what could be seen before: some ten seconds. */
const UNBELIEVED = 3

/**
 * How often in a row something was refused. An API server that has just begun refuses for a moment what it allows, until it knows its
 * rules: so it is asked again soon at first, and later and later as long as it stays with that.
 */
export class RefusalBackoff {
  readonly #waiting: BackoffClock
  readonly #longestMs: number
  #inARow = 0
  #areTold = false

  constructor(waiting: BackoffClock, longestMs: number) {
    this.#waiting = waiting
    this.#longestMs = longestMs
  }

  /** Counts another one; whether it is meant, and to be told of. */
  areMeant(wasSeenBefore: boolean): boolean {
    this.#inARow++
    this.#areTold ||= !wasSeenBefore || this.#inARow > UNBELIEVED
    return this.#areTold
  }

  /** Until it is to be asked again. */
  async pause(signal: AbortSignal): Promise<void> {
    const due = FIRST_REFUSAL_PAUSE_MS * 2 ** (this.#inARow - 1) * (1 + this.#waiting.random())
    await this.#waiting.sleep(Math.min(due, this.#longestMs), signal)
  }

  /** It can be seen; whether it was told that it cannot. */
  over(): boolean {
    const wereTold = this.#areTold
    this.#inARow = 0
    this.#areTold = false
    return wereTold
  }
}

/** How many lists are made at a time; others wait for their turn, in the order in which they came. */
export class ListSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves with what gives the place back, which may be called twice. */
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

/** Hands items over in the order in which they came: what comes while some are being taken is handed over together. */
export class Handover<Item> {
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

  /** `bytes` is how long it was; `version`, where it has one, how far the stream is read with it. */
  add(item: Item | undefined, bytes: number, version: string | undefined): void {
    if (item !== undefined) {
      this.#items.push(item)
      this.#bytes += bytes
    }
    this.#version = version ?? this.#version
  }

  /** Resolves once there is room for more. Rejects with what kept items from being taken. */
  async room(): Promise<void> {
    if (this.#items.length === 0 && this.#version === undefined) return
    const taking = (this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined)))
    if (this.#items.length >= this.#maxItems || this.#bytes >= this.#maxBytes) await taking
    // Whoever waits for room later hears of it.
    else taking.catch(() => undefined)
  }

  /** Resolves once all are taken. */
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
