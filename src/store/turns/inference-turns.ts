import type { FromStore, ToStore } from '../../threads/thread-messages.ts'
import type { InferenceRounds } from '../inference/inference-rounds.ts'
import type { StorageHealth } from '../storage-health.ts'
import type { StorageGuard } from './storage-guard.ts'

type Tell = Extract<ToStore, { kind: 'tell' }>
type Ask = Extract<ToStore, { kind: 'askHeld' | 'askPosition' }>

/** How many writes are decided in one step, a transaction: fewer where senders wait for their answers. */
const STEP = 1_000
const STEP_BESIDE_REQUESTS = 100
/** How many tellings go into one transaction. */
const TOLD_AT_ONCE = 100

export interface InferenceTurnParts {
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
