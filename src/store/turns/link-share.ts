/**
 * While requests wait, linking gets a share of the time that storing them took: little at first, since their senders
 * wait and a burst is soon over, more when it lags further behind, and as much as storing in the end.
 */
const MIN_SHARE = 0.05
const LAG_OF_LEAST_SHARE = 500_000
const LAG_OF_EQUAL_SHARES = 2_000_000

/** How long linking may go on while requests wait. A step is not cut short: what it overdraws is saved up again. */
export class LinkShare {
  #creditMs = 0

  /** What linking may use now, in milliseconds, after storing took so long; none while it is 0 or less. */
  after(storedMs: number, lag: number): number {
    if (lag === 0) this.#creditMs = 0
    else this.#creditMs += storedMs * shareAt(lag)
    return this.#creditMs
  }

  used(ms: number): void {
    this.#creditMs -= ms
  }
}

function shareAt(lag: number): number {
  const beyond = (lag - LAG_OF_LEAST_SHARE) / (LAG_OF_EQUAL_SHARES - LAG_OF_LEAST_SHARE)
  return Math.min(1, Math.max(MIN_SHARE, beyond))
}
