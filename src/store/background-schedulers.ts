import type { MayGoOn } from '../linker/link-context.ts'
import type { Cancel, Timers } from '../model/time-and-size.ts'
import type { InferenceTransactions } from './inference-transactions.ts'
import type { StorageGuard, StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { StoreWriter } from './store-writer.ts'

/** How many arrivals are linked, or items expired, in one step. */
const LINK_STEP = 500
const EXPIRE_STEP = 500
/** The most time of a step, in milliseconds, since requests wait meanwhile. */
const STEP_MS = 20
/** The step while no message waits: commits of many spans cost less per span. */
const UNAWAITED_LINK_STEP = 4_000
const UNAWAITED_STEP_MS = 60
/** The step while costly and cheap flows are active, so that cheap ones do not wait long. */
const MIXED_LINK_STEP = 150
const MIXED_EXPIRE_STEP = 100
const MIXED_STEP_MS = 4

interface LinkSchedulerParts {
  writer: StoreWriter
  guard: StorageGuard
  post: (message: FromStore) => void
  /** A monotonic clock. */
  nowMs: () => number
  /** Whether a costly flow and cheap ones are active at the same time. */
  isMixed: () => boolean
  /** Whether requests are queued, or messages for which somebody waits have arrived. */
  isAwaited: () => boolean
}

/** Links and settles in steps, and reports the results. */
export class LinkScheduler {
  readonly #parts: LinkSchedulerParts
  readonly #share = new LinkShare()
  /** Whether linking failed; it is then not retried before `tryAgain`. */
  #hasFailed = false

  constructor(parts: LinkSchedulerParts) {
    this.#parts = parts
  }

  get isDue(): boolean {
    return this.#parts.writer.isLinkDue && !this.#hasFailed
  }

  tryAgain(): void {
    this.#hasFailed = false
  }

  /** Links at least one step, and further ones until `untilMs`. */
  link(untilMs: number): void {
    const { guard, writer, nowMs, isMixed } = this.#parts
    this.#hasFailed = !guard.run('linking', () => {
      let linked: number
      do
        linked = isMixed()
          ? writer.link(MIXED_LINK_STEP, this.#forOneStep())
          : writer.link(UNAWAITED_LINK_STEP, this.#untilAwaited())
      while (linked > 0 && nowMs() < untilMs)
    })
    this.#tell()
  }

  /** Links while requests wait, for a share of the time that storing the last ones took (`storedMs`). */
  linkBetween(storedMs: number): void {
    const { writer, nowMs } = this.#parts
    const mayTakeMs = this.#share.after(storedMs, writer.linkLag)
    if (mayTakeMs <= 0 || this.#hasFailed) return
    const startedMs = nowMs()
    this.link(startedMs + mayTakeMs)
    this.#share.used(nowMs() - startedMs)
  }

  /** Expires items whose wait is over, and settles traces, one step of them. */
  settle(): void {
    const { guard, writer, isMixed } = this.#parts
    guard.run('settling', () => {
      if (!writer.reader.isAnythingDue()) return
      writer.linking.expire(isMixed() ? MIXED_EXPIRE_STEP : EXPIRE_STEP, this.#forOneStep())
    })
    this.#tell()
  }

  /** Reports the items that linking and pruning set aside since the last call. */
  tellSetAside(): void {
    const items = this.#parts.writer.takeSetAside()
    if (items.length > 0) this.#parts.post({ kind: 'setAside', items })
  }

  #tell(): void {
    this.tellSetAside()
    const { writer, post } = this.#parts
    const { linking, lastDecisions } = writer
    const counts = linking.takeCounts()
    if (Object.values(counts).every((count) => count === 0)) return
    post({ kind: 'linked', counts, figures: linking.takeFigures(), lastDecisions })
  }

  #forOneStep(): () => boolean {
    const { nowMs, isMixed } = this.#parts
    const untilMs = nowMs() + (isMixed() ? MIXED_STEP_MS : STEP_MS)
    return () => nowMs() < untilMs
  }

  /** Allows a step of the usual size; a longer one only while no message waits. */
  #untilAwaited(): MayGoOn {
    const { nowMs, isAwaited } = this.#parts
    const startedMs = nowMs()
    let left = LINK_STEP
    return () => {
      const tookMs = nowMs() - startedMs
      return --left > 0 ? tookMs < STEP_MS : tookMs < UNAWAITED_STEP_MS && !isAwaited()
    }
  }
}

/**
 * The share of the time for storing that linking gets while requests wait. It starts small, since senders wait and bursts are short, grows
 * with the lag, and ends at the time for storing itself.
 */
const MIN_SHARE = 0.05
const LAG_OF_LEAST_SHARE = 500_000
const LAG_OF_EQUAL_SHARES = 2_000_000

/** The time that linking may use while requests wait. Overdrawn time is subtracted from later steps. */
class LinkShare {
  #creditMs = 0

  /** Adds the share for a time spent on storing. Returns how many milliseconds linking may use; none if that is 0 or less. */
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

type ObservationMessage = Extract<ToStore, { kind: 'observe' }>
type ClusterQuestion = Extract<ToStore, { kind: 'askKnownObjects' | 'askStreamPosition' }>

/** The most writes that are decided in one step, which is a transaction; fewer while requests wait. */
const STEP = 1_000
const STEP_BESIDE_REQUESTS = 100
const LEAST_STEP = 10
/** Batches of observations in one transaction. */
const OBSERVATIONS_AT_ONCE = 100

interface InferenceSchedulerParts {
  transactions: InferenceTransactions
  guard: StorageGuard
  health: StorageHealth
  post: (message: FromStore) => void
  /** Whether requests wait to be stored. */
  areRequestsWaiting: () => boolean
  /** A monotonic clock. */
  nowMs: () => number
}

/** Stores observations of clusters, infers causes of writes in steps, and reports the results. */
export class InferenceScheduler {
  readonly #parts: InferenceSchedulerParts
  readonly #observations: ObservationMessage[] = []
  /** Whether there may be more to decide after the last step. */
  #hasMore = false
  /** How many writes the next step decides: about as many as took STEP_MS before. */
  #step = STEP_BESIDE_REQUESTS

  constructor(parts: InferenceSchedulerParts) {
    this.#parts = parts
  }

  get isDue(): boolean {
    return this.#observations.length > 0 || this.#hasMore
  }

  add(message: ObservationMessage): void {
    this.#observations.push(message)
  }

  turn(): void {
    if (this.#observations.length > 0) this.#store()
    if (this.#hasMore) this.decide()
  }

  /** Stores all queued observations. */
  storeAll(): void {
    while (this.#observations.length > 0) this.#store()
  }

  /** Decides one step of the writes that have waited long enough. */
  decide(): void {
    const { transactions: rounds, guard, areRequestsWaiting, nowMs } = this.#parts
    const most = areRequestsWaiting() ? Math.min(this.#step, STEP_BESIDE_REQUESTS) : this.#step
    const startedMs = nowMs()
    const waited = rounds.waiting
    this.#hasMore = false
    guard.run('deciding about writes of clusters', () => {
      this.#hasMore = rounds.infer(most)
    })
    this.#adapt(nowMs() - startedMs, waited - rounds.waiting)
    this.#report()
  }

  /** A step that decided few writes says nothing of how long more would take. */
  #adapt(tookMs: number, decided: number): void {
    if (tookMs > STEP_MS) this.#step = Math.max(LEAST_STEP, this.#step >> 1)
    else if (decided >= this.#step && tookMs < STEP_MS / 2) this.#step = Math.min(STEP, this.#step * 2)
  }

  answer(question: ClusterQuestion): void {
    const { transactions: rounds, post, health } = this.#parts
    const { id } = question
    try {
      if (question.kind === 'askKnownObjects')
        post({ kind: 'clusterAnswer', id, held: rounds.knownObjects(question.asked) })
      else {
        const position = rounds.position(question.cluster, question.stream)
        post({ kind: 'clusterAnswer', id, ...(position !== undefined && { position }) })
      }
    } catch (error) {
      post({ kind: 'clusterAnswer', id, failed: health.noteFailure(error) })
    }
  }

  #store(): void {
    const { transactions: rounds, post, health } = this.#parts
    const messages = this.#observations.splice(0, OBSERVATIONS_AT_ONCE)
    try {
      if (health.isDamaged) throw new Error(health.fault?.reason)
      const outcomes = rounds.record(messages)
      post({
        kind: 'observed',
        outcomes: messages.map(({ id }, at) => ({ id, outcome: outcomes[at] ?? BUSY })),
      })
      health.noteSuccess()
    } catch (error) {
      const outcome = { kind: 'failed', reason: `nothing was stored: ${health.noteFailure(error)}` } as const
      post({ kind: 'observed', outcomes: messages.map(({ id }) => ({ id, outcome })) })
    }
  }

  #report(): void {
    const { transactions: rounds, post } = this.#parts
    const items = rounds.takeSetAside()
    if (items.length > 0) post({ kind: 'setAside', items })
    const { decided, recorded } = rounds.takeCounts()
    if (decided.length === 0) return
    post({ kind: 'inferred', decided, waiting: rounds.waiting })
    post({ kind: 'ingested', outcomes: [], counts: recorded, commitMs: undefined })
  }
}

const BUSY = { kind: 'busy', retryAfterMs: 500, reason: 'it was not stored' } as const

/** The most CPIDs removed in one turn, and its time limit, since senders wait meanwhile. */
const CPIDS = 200
const TURN_MS = 5
/** How long to pause per millisecond of a turn: after one that removed something, and after one that only looked. */
const REST = { removing: 1, looking: 50 }

interface PruneSchedulerParts {
  writer: StoreWriter
  post: (message: FromStore) => void
  /** A monotonic clock. */
  nowMs: () => number
  timers: Timers
}

/** Prunes in short turns, with pauses for senders' requests. */
export class PruneScheduler {
  readonly #parts: PruneSchedulerParts
  readonly #again: () => void
  #next: Cancel | undefined

  /** `again` is called when the next turn is due. */
  constructor(parts: PruneSchedulerParts, again: () => void) {
    this.#parts = parts
    this.#again = again
  }

  /** Runs one turn. Throws if the database cannot be written. */
  turn(): void {
    this.stop()
    const { writer, post, nowMs, timers } = this.#parts
    const startedMs = nowMs()
    // Housekeeping comes first, and is bounded by rows: however long it takes, pruning has a turn of its own.
    let pruningMs: number | undefined
    const mayGoOn = (): boolean => nowMs() - (pruningMs ??= nowMs()) < TURN_MS
    const result = writer.prune(CPIDS, { mayGoOn })
    if (result.cpids + result.spans + result.logs + result.unsent > 0) post({ kind: 'pruned', result })
    if (result.leapMs !== undefined) post({ kind: 'clockLeapt', reason: leapText(result.leapMs) })
    if (!result.more) return
    const restMs = REST[result.removed > 0 ? 'removing' : 'looking'] * (nowMs() - startedMs)
    this.#next = timers.after(restMs, this.#again)
  }

  stop(): void {
    this.#next?.()
  }
}

function leapText(leapMs: number): string {
  const minutes = Math.round(Math.abs(leapMs) / 60_000)
  const length = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
  const way = leapMs > 0 ? 'forward' : 'backward'
  return (
    `the clock of this machine went ${way} by about ${length}; nothing is pruned for its age for an hour of up time: ` +
    'if the clock is wrong, set it right before'
  )
}
