import type { Observation } from '../model/kubernetes-observations.ts'
import { type Clock, NANOS_PER_MS, type UnixNanos } from '../model/time-and-size.ts'
import type { StoreWriter } from '../store/store-writer.ts'

/** How often a running Causeway checks for due work while nothing waits. */
const IDLE_LOOK_MS = 1_000
const MOST_AT_ONCE = 500

/**
 * Runs a writer on the clock of a recording: it decides, links and settles when it would have then. The moments of its checks depend
 * only on what is stored and what waits, so that a resumed import checks at the same moments.
 */
export class ReplayedTime {
  readonly #writer: StoreWriter
  readonly #clock: RecordedClock
  /** The last result of `nextLookMs`, until something happens. */
  #nextLook: { ms: number | undefined } | undefined

  constructor(writer: StoreWriter, clock: RecordedClock) {
    this.#writer = writer
    this.#clock = clock
  }

  get nowMs(): number {
    return this.#clock.wallMs()
  }

  /** The time of its next check; undefined if nothing waits and no cascade is open. */
  get nextLookMs(): number | undefined {
    this.#nextLook ??= { ms: this.#lookAfterNow() }
    return this.#nextLook.ms
  }

  /** Advances to its next check, or to an earlier moment. */
  goTowards(untilMs: number): void {
    this.#clock.goOn(Math.min(this.nextLookMs ?? untilMs, untilMs) - this.nowMs)
    this.#look()
  }

  /** Passes observations on; if too many wait, advances until there is room. */
  take(cluster: string, told: readonly Observation[], bytes: number): void {
    while (!this.#writer.inference.take(cluster, told, bytes)) this.goTowards(this.nowMs + REPLAY_STEP_MS)
    this.#nextLook = undefined
  }

  #lookAfterNow(): number | undefined {
    const { waiting, openTraces } = this.#writer.gauges()
    const isBusy = this.#writer.inference.waiting > 0 || this.#writer.isLinkDue || waiting > 0
    if (!isBusy && openTraces === 0) return undefined
    const everyMs = isBusy ? REPLAY_STEP_MS : IDLE_LOOK_MS
    return (Math.floor(this.nowMs / everyMs) + 1) * everyMs
  }

  #look(): void {
    this.#nextLook = undefined
    while (this.#writer.inference.infer(MOST_AT_ONCE));
    while (this.#writer.isLinkDue) if (this.#writer.link(MOST_AT_ONCE) === 0) break
    while (this.#writer.reader.isAnythingDue()) if (!this.#writer.linking.expire(MOST_AT_ONCE)) break
  }
}

/** The clock of a recording: it advances only when set, and never goes back. */
export class RecordedClock implements Clock {
  #nowMs: number
  readonly #startedMs: number

  constructor(startMs: number) {
    this.#nowMs = startMs
    this.#startedMs = startMs
  }

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startedMs
  }

  goOn(ms: number): void {
    this.#nowMs += ms
  }
}

/** How often a running Causeway checks for due work while something waits. Recorded time advances in these steps. */
const REPLAY_STEP_MS = 50
const LOOK_NS = BigInt(REPLAY_STEP_MS) * NANOS_PER_MS

/** The first check at or after a time, Unix milliseconds. */
export function firstTickAtOrAfterMs(ns: UnixNanos): number {
  return Number((ns + LOOK_NS - 1n) / LOOK_NS) * REPLAY_STEP_MS
}

/** The last check at or before a time, Unix milliseconds. */
export function lastTickBeforeMs(ns: UnixNanos): number {
  return Number(ns / LOOK_NS) * REPLAY_STEP_MS
}
