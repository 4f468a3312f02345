import type { Cancel, Timers } from '../model/time-and-size.ts'
import type { InferenceRounds } from './inference-rounds.ts'
import type { StorageGuard, StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { StoreWriter } from './store-writer.ts'

/** How much is linked, and how much expires, in one step. */
const LINK_STEP = 500
const EXPIRE_STEP = 500
/** While a flow sends much beside others that send little, so that these do not wait for a long step. */
const MIXED_LINK_STEP = 150
const MIN_LINK_STEP = 50
const MIXED_STEP_MS = 4
const MIXED_EXPIRE_STEP = 100

interface LinkTurnParts {
  writer: StoreWriter
  guard: StorageGuard
  post: (message: FromStore) => void
  /** A clock that never goes back. */
  nowMs: () => number
  /** Whether a flow costs much beside others that cost little. */
  isMixed: () => boolean
}

/** Links and settles in steps, and tells what came of it. */
export class LinkTurns {
  readonly #parts: LinkTurnParts
  readonly #share = new LinkShare()
  #mixedStep = MIXED_LINK_STEP
  /** Linking failed, and is not tried again before `tryAgain`. */
  #hasFailed = false

  constructor(parts: LinkTurnParts) {
    this.#parts = parts
  }

  get isDue(): boolean {
    return this.#parts.writer.isLinkDue && !this.#hasFailed
  }

  tryAgain(): void {
    this.#hasFailed = false
  }

  /** Links at least one step, then goes on until the time is up. */
  link(untilMs: number): void {
    const { guard, writer, nowMs } = this.#parts
    this.#hasFailed = !guard.run('linking', () => {
      for (let beforeMs = nowMs(); ;) {
        const linked = writer.link(this.#step)
        const endedMs = nowMs()
        this.#stepTook(endedMs - beforeMs)
        if (linked === 0 || endedMs >= untilMs) return
        beforeMs = endedMs
      }
    })
    this.#tell()
  }

  /** Links while requests wait: as long as is its share of the time that storing the last ones took. */
  linkBetween(storedMs: number): void {
    const { writer, nowMs } = this.#parts
    const mayTakeMs = this.#share.after(storedMs, writer.linkLag)
    if (mayTakeMs <= 0 || this.#hasFailed) return
    const startedMs = nowMs()
    this.link(startedMs + mayTakeMs)
    this.#share.used(nowMs() - startedMs)
  }

  /** Lets go a step of what has waited long enough, and settles traces. */
  settle(): void {
    const { guard, writer, isMixed } = this.#parts
    guard.run('settling', () => {
      if (writer.isAnythingDue()) writer.expire(isMixed() ? MIXED_EXPIRE_STEP : EXPIRE_STEP)
    })
    this.#tell()
  }

  /** Tells of what linking and pruning set aside since it last was. */
  tellSetAside(): void {
    const items = this.#parts.writer.takeSetAside()
    if (items.length > 0) this.#parts.post({ kind: 'setAside', items })
  }

  #tell(): void {
    this.tellSetAside()
    const { writer, post } = this.#parts
    const counts = writer.takeLinkCounts()
    if (Object.values(counts).every((count) => count === 0)) return
    post({ kind: 'linked', counts, figures: writer.takeFigures(), lastDecisions: writer.lastDecisions })
  }

  get #step(): number {
    return this.#parts.isMixed() ? this.#mixedStep : LINK_STEP
  }

  /** Where a step takes long, the next ones are smaller. */
  #stepTook(ms: number): void {
    if (!this.#parts.isMixed()) return
    const fitting = Math.trunc((this.#mixedStep * MIXED_STEP_MS) / Math.max(1, ms))
    this.#mixedStep = Math.min(MIXED_LINK_STEP, Math.max(MIN_LINK_STEP, fitting))
  }
}

/**
 * While requests wait, linking gets a share of the time that storing them took: little at first, since their senders
 * wait and a burst is soon over, more when it lags further behind, and as much as storing in the end.
 */
const MIN_SHARE = 0.05
const LAG_OF_LEAST_SHARE = 500_000
const LAG_OF_EQUAL_SHARES = 2_000_000

/** How long linking may go on while requests wait. A step is not cut short: what it overdraws is saved up again. */
class LinkShare {
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

type Tell = Extract<ToStore, { kind: 'tell' }>
type Ask = Extract<ToStore, { kind: 'askHeld' | 'askPosition' }>

/** How many writes are decided in one step, a transaction: fewer where senders wait for their answers. */
const STEP = 1_000
const STEP_BESIDE_REQUESTS = 100
/** How many tellings go into one transaction. */
const TOLD_AT_ONCE = 100

interface InferenceTurnParts {
  rounds: InferenceRounds
  guard: StorageGuard
  health: StorageHealth
  post: (message: FromStore) => void
  /** Whether senders wait for their requests to be stored. */
  areRequestsWaiting: () => boolean
}

/** Stores what receivers tell of clusters, decides about it in steps, and tells what came of it. */
export class InferenceTurns {
  readonly #parts: InferenceTurnParts
  readonly #told: Tell[] = []
  /** There may be more to decide than one step did. */
  #hasMore = false

  constructor(parts: InferenceTurnParts) {
    this.#parts = parts
  }

  get isDue(): boolean {
    return this.#told.length > 0 || this.#hasMore
  }

  /** Writes and Events that are stored and not decided yet. */
  get waiting(): number {
    return this.#parts.rounds.waiting
  }

  add(message: Tell): void {
    this.#told.push(message)
  }

  turn(): void {
    if (this.#told.length > 0) this.#store()
    if (this.#hasMore) this.decide()
  }

  /** Stores all that was told. */
  storeAll(): void {
    while (this.#told.length > 0) this.#store()
  }

  /** Decides a step of what has waited long enough. */
  decide(): void {
    const { rounds, guard, areRequestsWaiting } = this.#parts
    this.#hasMore = false
    guard.run('deciding about writes of clusters', () => {
      this.#hasMore = rounds.infer(areRequestsWaiting() ? STEP_BESIDE_REQUESTS : STEP)
    })
    this.#report()
  }

  answer(question: Ask): void {
    const { rounds, post, health } = this.#parts
    const { id } = question
    try {
      if (question.kind === 'askHeld') post({ kind: 'known', id, held: rounds.held(question.asked) })
      else {
        const position = rounds.position(question.cluster, question.stream)
        post({ kind: 'known', id, ...(position !== undefined && { position }) })
      }
    } catch (error) {
      post({ kind: 'known', id, failed: health.failed(error) })
    }
  }

  #store(): void {
    const { rounds, post, health } = this.#parts
    const messages = this.#told.splice(0, TOLD_AT_ONCE)
    try {
      if (health.isDamaged) throw new Error(health.fault?.reason)
      const outcomes = rounds.tell(messages)
      post({ kind: 'told', outcomes: messages.map(({ id }, at) => ({ id, outcome: outcomes[at] ?? BUSY })) })
      health.worked()
    } catch (error) {
      const outcome = { kind: 'failed', reason: `nothing was stored: ${health.failed(error)}` } as const
      post({ kind: 'told', outcomes: messages.map(({ id }) => ({ id, outcome })) })
    }
  }

  #report(): void {
    const { rounds, post } = this.#parts
    const items = rounds.takeSetAside()
    if (items.length > 0) post({ kind: 'setAside', items })
    const { decided, recorded } = rounds.takeCounts()
    if (decided.length === 0) return
    post({ kind: 'inferred', decided, waiting: rounds.waiting })
    post({ kind: 'ingested', outcomes: [], counts: recorded, commitMs: undefined })
  }
}

const BUSY = { kind: 'busy', retryAfterMs: 500, reason: 'it was not stored' } as const

/** About how many CPIDs go in one turn, and how long it takes: senders wait for it. */
const CPIDS = 200
const TURN_MS = 5
/** How long it rests for each millisecond of a turn that removed something, and of one that only looked. */
const REST = { removing: 1, looking: 50 }

interface PruneTurnParts {
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
