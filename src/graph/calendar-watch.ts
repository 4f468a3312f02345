const MINUTE_MS = 60_000
/** More than any correction by NTP that does no harm. */
const LEAP_MS = 10 * MINUTE_MS
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
export interface Believed {
  readonly isSure: boolean
  readonly leapMs?: number
}

/**
 * Compares the calendar with up time. A calendar that leaps is wrong now, or was wrong before, and nobody can tell which:
 * what depends on how old things are waits then, so that a wrong clock does not remove everything.
 */
export class CalendarWatch {
  #last: Look | undefined
  #unsureUntilMs = 0

  /** `lastSeenMs`: what the calendar said when it was last written down, by an earlier process perhaps. */
  look(now: Look, lastSeenMs: number | undefined): Believed {
    const leapMs = this.#leapTo(now, lastSeenMs)
    this.#last = { wallMs: now.wallMs, activeMs: now.activeMs }
    if (leapMs !== undefined) this.#unsureUntilMs = now.activeMs + UNSURE_MS
    return { isSure: now.activeMs >= this.#unsureUntilMs, ...(leapMs !== undefined && { leapMs }) }
  }

  #leapTo({ wallMs, activeMs }: Look, lastSeenMs: number | undefined): number | undefined {
    if (this.#last !== undefined) {
      const leapMs = wallMs - this.#last.wallMs - (activeMs - this.#last.activeMs)
      return Math.abs(leapMs) > LEAP_MS ? leapMs : undefined
    }
    if (lastSeenMs === undefined) return undefined
    const leapMs = wallMs - lastSeenMs
    return leapMs > DOWN_MS || leapMs < -LEAP_MS ? leapMs : undefined
  }
}
