import type { SetAside } from '../model/faults.ts'
import type { CommittedMark, WalSize } from '../model/store-ports.ts'
import { type Cancel, type Clock, MIB, type Timers } from '../model/time-and-size.ts'
import { InferenceTurns, LinkTurns, PruneTurns } from './background-turns.ts'
import { type Ingest, IngestTurns } from './ingest-turns.ts'
import { StorageGuard, type StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { MovedArchive, StoreWriter } from './store-writer.ts'

const SETTLE_EVERY_MS = 50
/** What receivers tell is stored at most that often, since each transaction has its price; writes are decided half a second later anyway. */
const STORE_TOLD_EVERY_MS = 10
const SAVE_EVERY_MS = 250
const REPORT_EVERY_MS = 2_000
const MARK_EVERY_MS = 500
/** After that long without work there may be none for long. */
const REST_AFTER_MS = 4_000

interface TurnSettings {
  /** 0: nothing is pruned. */
  pruneIntervalMs: number
  post: (message: FromStore) => void
  health: StorageHealth
  wal: WalSize
  /** Without it the commits themselves move the write-ahead log into the database. */
  checkpoints?: { look(): void }
  /** Without it a write-ahead log that is gone after a kill is not noticed. */
  mark?: CommittedMark
  /** Gives memory back that is of use only while there is work. */
  rest?: () => void
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
}

/**
 * Shares the writer's thread out: requests first, since their senders wait; linking in between, so that it never
 * starves; settling, pruning and exporter positions on their intervals. What fails is tried again on the next interval,
 * whether or not anybody sends.
 */
export class StoreTurns {
  readonly #writer: StoreWriter
  readonly #settings: TurnSettings
  readonly #guard: StorageGuard
  readonly #requests: IngestTurns
  readonly #linking: LinkTurns
  readonly #inference: InferenceTurns
  readonly #pruning: PruneTurns
  readonly #notes: ExporterReports
  readonly #log: WalUpkeep
  readonly #intervals: Cancel[] = []
  #nextTurn: Cancel | undefined
  #gathering: Cancel | undefined
  #storedToldMs = -Infinity
  #workedMs: number
  #isResting = false
  #isStopped = false

  constructor(writer: StoreWriter, settings: TurnSettings) {
    const { post, health, wal, checkpoints, mark, clock, timers } = settings
    const nowMs = (): number => clock.monotonicMs()
    const guard = new StorageGuard(health, post)
    this.#writer = writer
    this.#settings = settings
    this.#guard = guard
    this.#workedMs = nowMs()
    this.#requests = new IngestTurns({ writer, post, health, nowMs })
    this.#linking = new LinkTurns({ writer, guard, post, nowMs, isMixed: () => this.#requests.isMixed })
    this.#inference = new InferenceTurns({
      ...{ rounds: writer.inference, guard, health, post },
      areRequestsWaiting: () => this.#requests.size > 0,
    })
    this.#pruning = new PruneTurns({ writer, post, nowMs, timers }, () => this.#prune())
    this.#notes = new ExporterReports({ writer, guard, post })
    this.#log = new WalUpkeep({ wal, checkpoints, mark, guard, post })
  }

  start(): void {
    const { pruneIntervalMs } = this.#settings
    this.#every(SETTLE_EVERY_MS, () => this.#settle())
    this.#every(SAVE_EVERY_MS, () => this.#notes.save())
    this.#every(REPORT_EVERY_MS, () => this.#report())
    this.#every(MARK_EVERY_MS, () => this.#log.note(this.#writer.progress.lastArrival))
    this.#every(REPORT_EVERY_MS, () => this.#log.shorten(this.#requests.size > 0 || this.#writer.linkLag > 0))
    this.#every(REPORT_EVERY_MS, () => this.#restWhenQuiet())
    if (pruneIntervalMs > 0) this.#every(pruneIntervalMs, () => this.#prune())
    this.#report()
    this.#turnSoon()
  }

  add(request: Ingest): void {
    this.#requests.add(request)
    this.#turnSoon()
  }

  /** What a receiver sees of a cluster. */
  tell(message: Extract<ToStore, { kind: 'tell' }>): void {
    this.#inference.add(message)
    const { clock, timers } = this.#settings
    const sinceMs = clock.monotonicMs() - this.#storedToldMs
    if (sinceMs >= STORE_TOLD_EVERY_MS) this.#turnSoon()
    else {
      this.#gathering ??= timers.after(STORE_TOLD_EVERY_MS - sinceMs, () => {
        this.#gathering = undefined
        this.#turnSoon()
      })
    }
  }

  /** What is known of a cluster. */
  ask(question: Extract<ToStore, { kind: 'askHeld' | 'askPosition' }>): void {
    this.#inference.answer(question)
  }

  exporterMoved(message: Extract<ToStore, { kind: 'moved' }>): void {
    this.#notes.moved(message)
  }

  archiveMoved(message: MovedArchive): void {
    this.#notes.archived(message)
  }

  /** Notes what an exporter could not send. */
  setAside(items: readonly SetAside[]): void {
    this.#notes.setAside(items)
    this.#notes.save()
  }

  /** Stores what was handed over and links it, as far as the grace period goes. */
  catchUp(graceMs: number): void {
    this.#storeAll()
    this.#linking.link(this.#settings.clock.monotonicMs() + graceMs)
    this.#settings.post({ kind: 'caughtUp', lastDecisions: this.#writer.lastDecisions })
  }

  /** Stores what was handed over; afterwards nothing touches the database any more. */
  stop(): void {
    this.#isStopped = true
    this.#nextTurn?.()
    this.#gathering?.()
    for (const cancel of this.#intervals) cancel()
    this.#pruning.stop()
    this.#storeAll()
    this.#notes.save()
  }

  #storeAll(): void {
    while (this.#requests.size > 0) this.#requests.turn()
    this.#inference.storeAll()
  }

  #turnSoon(): void {
    if (this.#isStopped || this.#nextTurn !== undefined) return
    this.#nextTurn = this.#settings.timers.soon(() => {
      this.#nextTurn = undefined
      this.#turn()
    })
  }

  #turn(): void {
    const { clock } = this.#settings
    this.#workedMs = clock.monotonicMs()
    this.#isResting = false
    if (this.#requests.size > 0) {
      this.#requests.turn()
      if (this.#requests.size > 0) this.#linking.linkBetween(clock.monotonicMs() - this.#workedMs)
    } else if (this.#linking.isDue) this.#linking.link(0)
    if (this.#inference.isDue) {
      this.#inference.turn()
      this.#storedToldMs = clock.monotonicMs()
    }
    this.#log.move()
    if (this.#requests.size > 0 || this.#linking.isDue || this.#inference.isDue) this.#turnSoon()
  }

  /** Also begins linking again that failed, or that has something to do though nobody sent. */
  #settle(): void {
    this.#inference.decide()
    this.#linking.settle()
    this.#linking.tryAgain()
    if (this.#linking.isDue || this.#inference.isDue) this.#turnSoon()
  }

  #prune(): void {
    this.#guard.run('pruning', () => this.#pruning.turn())
    this.#linking.tellSetAside()
    this.#log.move()
  }

  #report(): void {
    const { post, wal, health } = this.#settings
    this.#guard.run('reading the gauges', () => {
      const sizes = { walBytes: wal.bytes(), freeBytes: wal.freeBytes() }
      post({ kind: 'gauges', gauges: { lag: this.#writer.linkLag, ...this.#writer.gauges(), ...sizes } })
    })
    // Nobody may be sending any more, so that nothing else would show that the database is well again.
    if (health.fault === undefined) return
    this.#guard.run('writing', () => {
      this.#writer.tryWriting()
      health.worked()
    })
  }

  #restWhenQuiet(): void {
    const { clock, rest } = this.#settings
    if (this.#isResting || clock.monotonicMs() - this.#workedMs < REST_AFTER_MS) return
    this.#isResting = true
    if (rest !== undefined) this.#guard.run('resting', rest)
  }

  #every(ms: number, work: () => void): void {
    this.#intervals.push(this.#settings.timers.every(ms, work))
  }
}

type Moved = Extract<ToStore, { kind: 'moved' }>

/** As many as the table keeps; the oldest go first there too. */
const MAX_SET_ASIDE = 1_000

interface ExporterNoteParts {
  writer: StoreWriter
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** What exporters report, kept until it is saved: how far each has come, and what could not be sent. */
class ExporterReports {
  readonly #parts: ExporterNoteParts
  readonly #moved = new Map<string, Moved>()
  readonly #archived = new Map<string, MovedArchive>()
  #setAside: SetAside[] = []

  constructor(parts: ExporterNoteParts) {
    this.#parts = parts
  }

  moved(message: Moved): void {
    const key = `${message.signal} ${message.exporter}`
    const refused = (this.#moved.get(key)?.refused ?? 0) + message.refused
    this.#moved.set(key, { ...message, refused })
  }

  archived({ exporter, position, refused }: MovedArchive): void {
    const before = this.#archived.get(exporter)?.refused ?? 0
    this.#archived.set(exporter, { exporter, position, refused: before + refused })
  }

  setAside(items: readonly SetAside[]): void {
    this.#setAside = [...this.#setAside, ...items].slice(-MAX_SET_ASIDE)
  }

  /** What was set aside first: an exporter that starts again from a position that was saved does not meet it once more. */
  save(): void {
    if (this.#setAside.length > 0 && !this.#saveSetAside()) return
    if (this.#moved.size > 0) this.#savePositions()
    if (this.#archived.size > 0) this.#saveArchives()
  }

  #saveSetAside(): boolean {
    return this.#parts.guard.run('noting what cannot be sent', () => {
      this.#parts.writer.setAside(this.#setAside)
      this.#setAside = []
    })
  }

  #saveArchives(): void {
    this.#parts.guard.run('saving how far archives have come', () => {
      this.#parts.writer.saveArchives(this.#archived.values())
      this.#archived.clear()
    })
  }

  #savePositions(): void {
    const { writer, guard, post } = this.#parts
    guard.run('saving exporter positions', () => {
      const items = writer.savePositions(this.#moved.values())
      this.#moved.clear()
      if (items.length > 0) post({ kind: 'setAside', items })
    })
  }
}

/** From here on someone is told who makes the write-ahead log grow. */
const WARN_BYTES = 256 * MIB

const HELD =
  `the write-ahead log of the database has grown past ${WARN_BYTES / MIB} MiB, since a program reads the database ` +
  'without an end; end that program (fuser -v on the database names it), and the log gets short again by itself'

interface LogUpkeepParts {
  wal: WalSize
  /** Without it the commits themselves move the write-ahead log into the database. */
  checkpoints?: { look(): void } | undefined
  /** Without it a log that is gone after a kill is not noticed. */
  mark?: CommittedMark | undefined
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** When the write-ahead log is moved into the database, and when it is shortened. */
class WalUpkeep {
  readonly #parts: LogUpkeepParts

  constructor(parts: LogUpkeepParts) {
    this.#parts = parts
  }

  /** To be called after commits. */
  move(): void {
    const { checkpoints, guard } = this.#parts
    if (checkpoints !== undefined)
      guard.run('moving the write-ahead log into the database', () => checkpoints.look())
  }

  /** Says beside the database how many arrivals it holds, to be called outside of transactions. */
  note(arrivals: number): void {
    this.#parts.mark?.write(arrivals)
  }

  /** Shortens it while nobody waits, or when it has grown very long. */
  shorten(isBusy: boolean): void {
    const { wal, guard, post } = this.#parts
    guard.run('shortening the write-ahead log', () => {
      if (isBusy && wal.bytes() < WARN_BYTES) return
      if (wal.shorten() === 'held' && wal.bytes() >= WARN_BYTES) post({ kind: 'notice', reason: HELD })
    })
  }
}
