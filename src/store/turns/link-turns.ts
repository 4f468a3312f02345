import type { FromStore } from '../../threads/thread-messages.ts'
import type { StoreWriter } from '../store-writer.ts'
import { LinkShare } from './link-share.ts'
import type { StorageGuard } from './storage-guard.ts'

/** How much is linked, and how much expires, in one step. */
const LINK_STEP = 500
const EXPIRE_STEP = 500
/** While a flow sends much beside others that send little, so that these do not wait for a long step. */
const MIXED_LINK_STEP = 150
const MIN_LINK_STEP = 50
const MIXED_STEP_MS = 4
const MIXED_EXPIRE_STEP = 100

export interface LinkTurnParts {
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
