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
  /** `nextLookMs`, where nothing happened since it was asked for. */
  #nextLook: { ms: number | undefined } | undefined

  constructor(writer: StoreWriter, clock: RecordedClock) {
    this.#writer = writer
    this.#clock = clock
  }

  get nowMs(): number {
    return this.#clock.wallMs()
  }

  /** When it looks next by itself; undefined where nothing can become due, since nothing waits and no cascade is open. */
  get nextLookMs(): number | undefined {
    this.#nextLook ??= { ms: this.#lookAfterNow() }
    return this.#nextLook.ms
  }

  /** Goes on to its next look, or to a moment before that. */
  goTowards(untilMs: number): void {
    this.#clock.goOn(Math.min(this.nextLookMs ?? untilMs, untilMs) - this.nowMs)
    this.#look()
  }

  /** Has it take in what was told; where too much waits, time goes on until there is room. */
  take(cluster: string, told: readonly Observation[], bytes: number): void {
    while (!this.#writer.inference.take(cluster, told, bytes)) this.goTowards(this.nowMs + LOOK_MS)
    this.#nextLook = undefined
  }

  #lookAfterNow(): number | undefined {
    const { waiting, openTraces } = this.#writer.gauges()
    const isBusy = this.#writer.inference.waiting > 0 || this.#writer.isLinkDue || waiting > 0
    if (!isBusy && openTraces === 0) return undefined
    const everyMs = isBusy ? LOOK_MS : IDLE_LOOK_MS
    return (Math.floor(this.nowMs / everyMs) + 1) * everyMs
  }

  #look(): void {
    this.#nextLook = undefined
    while (this.#writer.inference.infer(MOST_AT_ONCE));
    while (this.#writer.isLinkDue) if (this.#writer.link(MOST_AT_ONCE) === 0) break
    while (this.#writer.isAnythingDue()) if (!this.#writer.expire(MOST_AT_ONCE)) break
  }
}
