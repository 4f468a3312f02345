const MINUTE_MS = 60_000
/** More than any correction by NTP that does no harm. */
export const LEAP_MS = 10 * MINUTE_MS
/** A clock may gain or lose that much of the time that goes by: no clock that works drifts, or is slewed for long, faster. */
export const DRIFT = 0.01
/** Causeway may have been down; less than this does no harm to what is kept for days. */
const DOWN_MS = 24 * 60 * MINUTE_MS
/** How long a new time must last before anything is removed because of it: time to set a wrong clock right. */
export const UNSURE_MS = 60 * MINUTE_MS

export interface Look {
  /** What the calendar says, Unix milliseconds. */
  readonly wallMs: number
  /** Up time in milliseconds. */
  readonly activeMs: number
}

/** Whether the calendar may be believed; `leapMs` is there when it has just leapt, below zero when backward. */
export interface CalendarVerdict {
  readonly isSure: boolean
  readonly leapMs?: number
}

/** How far the calendar was ahead of up time, at least and at most, and when it was looked at last. */
interface Ahead {
  leastMs: number
  mostMs: number
  activeMs: number
}

/**
 * Compares the calendar with up time. A calendar that leaps is wrong now, or was wrong before, and nobody can tell which:
 * what depends on how old things are waits then, so that a wrong clock does not remove everything. Many small leaps are a large one:
 * it is compared with all that it said since the last leap, less what a clock may drift meanwhile.
 */
export class CalendarWatch {
  #ahead: Ahead | undefined
  #unsureUntilMs = 0

  /** `lastSeenMs`: what the calendar said when it was last written down, by an earlier process perhaps. */
  look({ wallMs, activeMs }: Look, lastSeenMs: number | undefined): CalendarVerdict {
    const aheadMs = wallMs - activeMs
    const leapMs =
      this.#ahead === undefined ? leapWhileAway(wallMs, lastSeenMs) : leapFrom(this.#ahead, aheadMs, activeMs)
    const { leastMs, mostMs } = (leapMs === undefined ? this.#ahead : undefined) ?? {
      leastMs: aheadMs,
      mostMs: aheadMs,
    }
    const driftMs = driftSince(this.#ahead, activeMs)
    this.#ahead = {
      leastMs: Math.min(aheadMs, leastMs + driftMs),
      mostMs: Math.max(aheadMs, mostMs - driftMs),
      activeMs,
    }
    if (leapMs !== undefined) this.#unsureUntilMs = activeMs + UNSURE_MS
    return { isSure: activeMs >= this.#unsureUntilMs, ...(leapMs !== undefined && { leapMs }) }
  }
}

function leapFrom(ahead: Ahead, aheadMs: number, activeMs: number): number | undefined {
  const driftMs = driftSince(ahead, activeMs)
  const forwardMs = aheadMs - ahead.leastMs
  const backwardMs = aheadMs - ahead.mostMs
  if (forwardMs > LEAP_MS + driftMs) return forwardMs
  return backwardMs < -LEAP_MS - driftMs ? backwardMs : undefined
}

function driftSince(ahead: Ahead | undefined, activeMs: number): number {
  return ahead === undefined ? 0 : (activeMs - ahead.activeMs) * DRIFT
}

function leapWhileAway(wallMs: number, lastSeenMs = wallMs): number | undefined {
  const leapMs = wallMs - lastSeenMs
  return leapMs > DOWN_MS || leapMs < -LEAP_MS ? leapMs : undefined
}
