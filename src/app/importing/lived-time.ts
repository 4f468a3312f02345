import type { Observation } from '../../model/kubernetes/observation.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import { LOOK_MS, type RecordedClock } from './recorded-clock.ts'

/** How often a Causeway looks for what is due while nothing waits. */
const IDLE_LOOK_MS = 1_000
const MOST_AT_ONCE = 500

/**
 * Lets a writer live through the time of a recording: it decides, links and settles when it would have then. The moments at which it
 * looks follow from what is stored and what waits alone, so that an import which goes on looks at the same moments.
 */
export class LivedTime {
  readonly #writer: StoreWriter
  readonly #clock: RecordedClock

  constructor(writer: StoreWriter, clock: RecordedClock) {
    this.#writer = writer
    this.#clock = clock
  }

  get nowMs(): number {
    return this.#clock.wallMs()
  }

  /** When it looks next by itself; undefined where nothing can become due, since nothing waits and no cascade is open. */
  get nextLookMs(): number | undefined {
    const everyMs = this.#isBusy ? LOOK_MS : this.#writer.gauges().openTraces > 0 ? IDLE_LOOK_MS : undefined
    return everyMs && (Math.floor(this.nowMs / everyMs) + 1) * everyMs
  }

  /** Goes on to its next look, or to a moment before that. */
  goTowards(untilMs: number): void {
    this.#clock.goOn(Math.min(this.nextLookMs ?? untilMs, untilMs) - this.nowMs)
    this.#look()
  }

  /** Has it take in what was told; where too much waits, time goes on until there is room. */
  take(cluster: string, told: readonly Observation[], bytes: number): void {
    while (!this.#writer.inference.take(cluster, told, bytes)) this.goTowards(this.nowMs + LOOK_MS)
  }

  get #isBusy(): boolean {
    return this.#writer.inference.waiting > 0 || this.#writer.isLinkDue || this.#writer.gauges().waiting > 0
  }

  #look(): void {
    while (this.#writer.inference.infer(MOST_AT_ONCE));
    while (this.#writer.isLinkDue) if (this.#writer.link(MOST_AT_ONCE) === 0) break
    while (this.#writer.isAnythingDue()) if (!this.#writer.expire(MOST_AT_ONCE)) break
  }
}
