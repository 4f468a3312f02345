import { NANOS_PER_MS, type UnixNanos } from '../../model/clock.ts'
import type { PendingTelling } from '../../store/inference/inference-rounds.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { RecordedClock } from './recorded-clock.ts'

/** How often a Causeway looks for what is due, while something waits and while nothing does. */
const BUSY_STEP_MS = 50
const IDLE_STEP_MS = 1_000
const STEP = 500

/** Lets a writer live through the time of a recording: it decides, links, settles and prunes when it would have then. */
export class LivedTime {
  readonly #writer: StoreWriter
  readonly #clock: RecordedClock

  constructor(writer: StoreWriter, clock: RecordedClock) {
    this.#writer = writer
    this.#clock = clock
    this.#work()
  }

  /** Goes on to a time, unless it is past. */
  goTo(ns: UnixNanos): void {
    const untilMs = Number(ns / NANOS_PER_MS)
    while (this.#clock.wallMs() < untilMs) {
      const leftMs = untilMs - this.#clock.wallMs()
      const isIdle = !this.#isBusy
      // Nothing can become due where nothing waits and no cascade is open.
      this.#step(isIdle && this.#writer.gauges().openTraces === 0 ? leftMs : Math.min(leftMs, this.#stepMs))
    }
  }

  /** Has it stored what was told; where too much waits, time goes on until there is room. */
  tell(tellings: readonly PendingTelling[]): void {
    for (;;) {
      const [outcome] = this.#writer.inference.tell(tellings)
      if (outcome?.kind !== 'busy') return
      this.#step(BUSY_STEP_MS)
    }
  }

  /** Goes on until everything is decided and every cascade has settled. */
  end(): void {
    while (this.#isBusy || this.#writer.gauges().openTraces > 0) this.#step(this.#stepMs)
  }

  get #isBusy(): boolean {
    return this.#writer.inference.waiting > 0 || this.#writer.isLinkDue || this.#writer.gauges().waiting > 0
  }

  get #stepMs(): number {
    return this.#isBusy ? BUSY_STEP_MS : IDLE_STEP_MS
  }

  #step(ms: number): void {
    this.#clock.goOn(ms)
    this.#work()
  }

  #work(): void {
    while (this.#writer.inference.infer(STEP));
    while (this.#writer.isLinkDue) if (this.#writer.link(STEP) === 0) break
    while (this.#writer.isAnythingDue()) if (!this.#writer.expire(STEP)) break
  }
}
