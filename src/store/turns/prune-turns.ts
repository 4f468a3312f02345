import type { Cancel, Timers } from '../../model/timers.ts'
import type { StoreWriter } from '../store-writer.ts'
import type { FromStore } from '../../threads/thread-messages.ts'

/** About how many CPIDs go in one turn, and how long it takes: senders wait for it. */
const CPIDS = 200
const TURN_MS = 5
/** How long it rests for each millisecond of a turn that removed something, and of one that only looked. */
const REST = { removing: 1, looking: 50 }

export interface PruneTurnParts {
  writer: StoreWriter
  post: (message: FromStore) => void
  /** A clock that never goes back. */
  nowMs: () => number
  timers: Timers
}

/** Prunes in short turns, with rests between them in which senders are served. */
export class PruneTurns {
  readonly #parts: PruneTurnParts
  readonly #again: () => void
  #next: Cancel | undefined

  /** `again` is called when the next turn is due. */
  constructor(parts: PruneTurnParts, again: () => void) {
    this.#parts = parts
    this.#again = again
  }

  /** Does one turn; throws when the database cannot be written. */
  turn(): void {
    this.stop()
    const { writer, post, nowMs, timers } = this.#parts
    const startedMs = nowMs()
    const mayGoOn = (): boolean => nowMs() - startedMs < TURN_MS
    const result = writer.prune(CPIDS, { mayGoOn })
    if (result.cpids + result.spans + result.logs > 0) post({ kind: 'pruned', result })
    if (result.leapMs !== undefined) post({ kind: 'leapt', reason: leapText(result.leapMs) })
    if (!result.more) return
    const restMs = REST[result.removed > 0 ? 'removing' : 'looking'] * (nowMs() - startedMs)
    this.#next = timers.after(restMs, this.#again)
  }

  stop(): void {
    this.#next?.()
  }
}

function leapText(leapMs: number): string {
  const hours = Math.round(Math.abs(leapMs) / 3_600_000)
  const way = leapMs > 0 ? 'forward' : 'backward'
  return (
    `the clock of this machine went ${way} by about ${hours} h; nothing is pruned for its age for an hour of up time: ` +
    'if the clock is wrong, set it right before'
  )
}
