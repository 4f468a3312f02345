import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'

/** How long a lag counts, at least; at most twice as long. */
const REMEMBERED_NS = nanosOfMs(60_000)
/** The wait is this many times the longest lag: a watch may fall further behind than it was. */
const MARGIN = 2n
/** The longest wait for watches that are behind. Versions from another etcd, with resourceVersions of its own, are always behind. */
const LONGEST_NS = nanosOfMs(5_000)

/** How far the watches of a cluster have lately been behind one another: how late versions arrived after higher ones. */
export class WatchLag {
  #sinceNs: UnixNanos = 0n
  #latestNs = 0n
  #beforeNs = 0n

  /** A version arrived this long after a higher one. */
  note(lagNs: bigint, nowNs: UnixNanos): void {
    this.#forget(nowNs)
    // No wait is long enough for a watch that was away.
    if (lagNs > this.#latestNs && lagNs <= LONGEST_NS) this.#latestNs = lagNs
  }

  /** How long a write has to wait for versions below it, `leastNs` or longer. */
  waitNs(leastNs: bigint, nowNs: UnixNanos): bigint {
    this.#forget(nowNs)
    const lagNs = this.#latestNs > this.#beforeNs ? this.#latestNs : this.#beforeNs
    const waitNs = lagNs * MARGIN < LONGEST_NS ? lagNs * MARGIN : LONGEST_NS
    return waitNs > leastNs ? waitNs : leastNs
  }

  #forget(nowNs: UnixNanos): void {
    const passedNs = nowNs - this.#sinceNs
    if (passedNs >= 0n && passedNs < REMEMBERED_NS) return
    this.#beforeNs = passedNs >= 0n && passedNs < 2n * REMEMBERED_NS ? this.#latestNs : 0n
    this.#latestNs = 0n
    this.#sinceNs = nowNs
  }
}
