import type { StoreWriter } from '../store-writer.ts'
import type { FromStore } from '../../threads/thread-messages.ts'

/** About how many CPIDs go in one turn, and how long it takes: senders wait for it. */
const CPIDS = 200
const TURN_MS = 5
/** How long it rests for each millisecond of a turn that removed something, and of one that only looked. */
const REST = { removing: 1, looking: 50 }

/** Prunes in short turns, with rests between them in which senders are served. */
export class PruneTurns {
  readonly #writer: StoreWriter
  readonly #post: (message: FromStore) => void
  readonly #again: () => void
  #next: NodeJS.Timeout | undefined

  /** `again` is called when the next turn is due. */
  constructor(writer: StoreWriter, post: (message: FromStore) => void, again: () => void) {
    this.#writer = writer
    this.#post = post
    this.#again = again
  }

  /** Does one turn; throws when the database cannot be written. */
  turn(): void {
    this.stop()
    const startedMs = performance.now()
    const mayGoOn = (): boolean => performance.now() - startedMs < TURN_MS
    const result = this.#writer.prune(CPIDS, { mayGoOn })
    if (result.cpids + result.spans + result.logs > 0) this.#post({ kind: 'pruned', result })
    if (result.leapMs !== undefined) this.#post({ kind: 'leapt', reason: leapText(result.leapMs) })
    if (!result.more) return
    const restMs = REST[result.removed > 0 ? 'removing' : 'looking'] * (performance.now() - startedMs)
    this.#next = setTimeout(this.#again, restMs)
  }

  stop(): void {
    clearTimeout(this.#next)
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
