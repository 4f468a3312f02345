import type { SetAside } from '../model/set-aside.ts'
import type { LogLength } from '../model/ports/write-ahead-log.ts'
import { IngestTurns, type Ingest } from './admission/ingest-turns.ts'
import { LinkShare } from './admission/link-share.ts'
import { PruneTurns } from './pruning/prune-turns.ts'
import type { StoreWriter } from './store-writer.ts'
import type { StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from '../threads/thread-messages.ts'

type Moved = Extract<ToStore, { kind: 'moved' }>

const MIB = 1024 * 1024
const LINK_STEP = 500
/** While a flow sends much beside others that send little, so that these do not wait for a long step. */
const MIXED_LINK_STEP = 150
const MIN_LINK_STEP = 50
const MIXED_STEP_MS = 4
const EXPIRE_STEP = 500
const MIXED_EXPIRE_STEP = 100
const TICK_MS = 50
const GAUGES_MS = 2_000
const POSITIONS_MS = 250
/** After that long without work there may be none for long. */
const REST_AFTER_MS = 4_000
/** From here on someone is told who makes the write-ahead log grow. */
const WAL_WARN_BYTES = 256 * MIB

const WAL_HELD =
  `the write-ahead log of the database has grown past ${WAL_WARN_BYTES / MIB} MiB, since a program reads the database ` +
  'without an end; end that program (fuser -v on the database names it), and the log gets short again by itself'

export interface TurnSettings {
  pruneIntervalMs: number
  post: (message: FromStore) => void
  health: StorageHealth
  wal: LogLength
  /** Without it the commits themselves move the write-ahead log into the database. */
  checkpoints?: { look(): void }
  /** Gives memory back that is of use only while there is work. */
  rest?: () => void
}

/**
 * Shares the writer's thread out: requests first, since their senders wait; linking in between, so that it never
 * starves; settling, pruning and exporter positions on their intervals.
 */
export class StoreTurns {
  readonly #writer: StoreWriter
  readonly #pruneIntervalMs: number
  readonly #post: (message: FromStore) => void
  readonly #health: StorageHealth
  readonly #wal: LogLength
  readonly #checkpoints: { look(): void } | undefined
  readonly #waiting: IngestTurns
  readonly #moved = new Map<string, Moved>()
  readonly #timers: NodeJS.Timeout[] = []
  readonly #rest: () => void
  readonly #pruning: PruneTurns
  #workedMs = performance.now()
  #isResting = false
  #isTurning = false
  /** Linking failed; it is tried again at the next tick. */
  #isLinkingDown = false
  readonly #linkShare = new LinkShare()
  #mixedLinkStep = MIXED_LINK_STEP

  constructor(writer: StoreWriter, { pruneIntervalMs, post, health, wal, checkpoints, rest }: TurnSettings) {
    this.#writer = writer
    this.#pruneIntervalMs = pruneIntervalMs
    this.#post = post
    this.#health = health
    this.#wal = wal
    this.#checkpoints = checkpoints
    this.#rest = rest ?? (() => undefined)
    this.#waiting = new IngestTurns(writer, post, health)
    this.#pruning = new PruneTurns(writer, post, () => this.#prune())
  }

  start(): void {
    this.#every(TICK_MS, () => this.#expire())
    this.#every(GAUGES_MS, () => this.#report())
    this.#every(GAUGES_MS, () => this.#keepWal())
    this.#every(GAUGES_MS, () => this.#restWhenQuiet())
    this.#every(POSITIONS_MS, () => this.#savePositions())
    if (this.#pruneIntervalMs > 0) this.#every(this.#pruneIntervalMs, () => this.#prune())
    this.#report()
    this.#turnSoon()
  }

  add(request: Ingest): void {
    this.#waiting.add(request)
    this.#turnSoon()
  }

  exporterMoved(message: Moved): void {
    const key = `${message.signal} ${message.exporter}`
    const refused = (this.#moved.get(key)?.refused ?? 0) + message.refused
    this.#moved.set(key, { ...message, refused })
  }

  /** Notes what an exporter could not send. */
  setAside(items: readonly SetAside[]): void {
    this.#guarded('noting what cannot be sent', () => this.#writer.setAside(items))
  }

  /** Stores what was handed over and links it, as far as the grace period goes. */
  catchUp(graceMs: number): void {
    while (this.#waiting.size > 0) this.#waiting.turn()
    this.#link(performance.now() + graceMs)
    this.#post({ kind: 'caughtUp', lastDecisions: this.#writer.lastDecisions })
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#pruning.stop()
    while (this.#waiting.size > 0) this.#waiting.turn()
    this.#savePositions()
    this.#isTurning = true
  }

  #turnSoon(): void {
    if (this.#isTurning) return
    this.#isTurning = true
    setImmediate(() => {
      this.#isTurning = false
      this.#turn()
    })
  }

  #turn(): void {
    this.#workedMs = performance.now()
    this.#isResting = false
    if (this.#waiting.size > 0) {
      const startedMs = performance.now()
      this.#waiting.turn()
      if (this.#waiting.size > 0) this.#linkInBetween(performance.now() - startedMs)
    } else if (this.#isLinkDue) this.#link(0)
    this.#guarded('moving the write-ahead log into the database', () => this.#checkpoints?.look())
    if (this.#waiting.size > 0 || this.#isLinkDue) this.#turnSoon()
  }

  get #isLinkDue(): boolean {
    return this.#writer.isLinkDue && !this.#isLinkingDown
  }

  get #linkStep(): number {
    return this.#waiting.isMixed ? this.#mixedLinkStep : LINK_STEP
  }

  /** Where a step takes long, the next ones are smaller. */
  #stepTookMs(ms: number): void {
    if (!this.#waiting.isMixed) return
    const fitting = Math.trunc((this.#mixedLinkStep * MIXED_STEP_MS) / Math.max(1, ms))
    this.#mixedLinkStep = Math.min(MIXED_LINK_STEP, Math.max(MIN_LINK_STEP, fitting))
  }

  #linkInBetween(storedMs: number): void {
    const mayTakeMs = this.#linkShare.after(storedMs, this.#writer.linkLag)
    if (mayTakeMs <= 0) return
    const startedMs = performance.now()
    this.#link(startedMs + mayTakeMs)
    this.#linkShare.used(performance.now() - startedMs)
  }

  /** Links at least one step, then goes on until the time is up. */
  #link(untilMs: number): void {
    this.#isLinkingDown = !this.#guarded('linking', () => {
      for (let beforeMs = performance.now(); ;) {
        const step = this.#linkStep
        const linked = this.#writer.link(step)
        const nowMs = performance.now()
        this.#stepTookMs(nowMs - beforeMs)
        if (linked === 0 || nowMs >= untilMs) return
        beforeMs = nowMs
      }
    })
    this.#postLinked()
  }

  #expire(): void {
    this.#guarded('settling', () => {
      if (!this.#writer.isAnythingDue()) return
      this.#writer.expire(this.#waiting.isMixed ? MIXED_EXPIRE_STEP : EXPIRE_STEP)
    })
    this.#postLinked()
    if (!this.#isLinkingDown) return
    this.#isLinkingDown = false
    this.#turnSoon()
  }

  #postSetAside(): void {
    const items = this.#writer.takeSetAside()
    if (items.length > 0) this.#post({ kind: 'setAside', items })
  }

  #postLinked(): void {
    this.#postSetAside()
    const counts = this.#writer.takeLinkCounts()
    if (Object.values(counts).every((count) => count === 0)) return
    const figures = this.#writer.takeFigures()
    this.#post({ kind: 'linked', counts, figures, lastDecisions: this.#writer.lastDecisions })
  }

  #prune(): void {
    this.#guarded('pruning', () => {
      this.#pruning.turn()
      this.#postSetAside()
      this.#checkpoints?.look()
    })
  }

  #report(): void {
    this.#guarded('reading the gauges', () => {
      const gauges = { lag: this.#writer.linkLag, ...this.#writer.gauges() }
      this.#post({
        kind: 'gauges',
        gauges: { ...gauges, walBytes: this.#wal.bytes(), freeBytes: this.#wal.freeBytes() },
      })
    })
    // Nobody may be sending any more, so that nothing else would show that the database is well again.
    if (this.#health.fault !== undefined) {
      this.#guarded('writing', () => {
        this.#writer.tryWriting()
        this.#health.worked()
      })
    }
  }

  /** Shortens the write-ahead log while nobody waits, or when it has grown very long. */
  #keepWal(): void {
    const isBusy = this.#waiting.size > 0 || this.#writer.linkLag > 0
    if (isBusy && this.#wal.bytes() < WAL_WARN_BYTES) return
    this.#guarded('shortening the write-ahead log', () => {
      if (this.#wal.shorten() !== 'held') return
      const bytes = this.#wal.bytes()
      if (bytes >= WAL_WARN_BYTES) this.#post({ kind: 'notice', reason: WAL_HELD })
    })
  }

  #restWhenQuiet(): void {
    if (this.#isResting || performance.now() - this.#workedMs < REST_AFTER_MS) return
    this.#isResting = true
    this.#guarded('resting', this.#rest)
  }

  #savePositions(): void {
    if (this.#moved.size === 0) return
    this.#guarded('saving exporter positions', () => {
      const items = this.#writer.savePositions(this.#moved.values())
      this.#moved.clear()
      if (items.length > 0) this.#post({ kind: 'setAside', items })
    })
  }

  /** A fault of the disk must not end the thread: what is to be done is durable and is tried again. */
  #guarded(what: string, work: () => void): boolean {
    if (this.#health.isDamaged) return false
    try {
      work()
      return true
    } catch (error) {
      this.#post({ kind: 'trouble', reason: `${what}: ${this.#health.failed(error)}` })
      return false
    }
  }

  #every(ms: number, work: () => void): void {
    this.#timers.push(setInterval(work, ms))
  }
}
