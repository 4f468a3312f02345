import type { SetAside } from '../model/faults.ts'
import type { CommittedMark, WalSize } from '../model/store-ports.ts'
import { type Cancel, type Clock, MIB, type Timers } from '../model/time-and-size.ts'
import { InferenceScheduler, LinkScheduler, PruneScheduler } from './background-schedulers.ts'
import { type Ingest, IngestQueue } from './ingest-queue.ts'
import { StorageGuard, type StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { MovedArchive, StoreWriter } from './store-writer.ts'

const SETTLE_EVERY_MS = 50
/** The least interval between transactions with observations: each has a cost, and writes are decided half a second later anyway. */
const STORE_OBSERVATIONS_EVERY_MS = 10
/** The time limit of a turn that decides about points of Pods. */
const POD_POINTS_MS = 4
/** The time limit of a turn that summarizes blocks of spans, while there is no other work. */
const SPAN_BLOCKS_MS = 5
const SAVE_EVERY_MS = 250
const REPORT_EVERY_MS = 2_000
const MARK_EVERY_MS = 500
/** Memory is freed after this long without work. */
const REST_AFTER_MS = 4_000

interface StoreSchedulerSettings {
  /** 0: never. */
  pruneIntervalMs: number
  post: (message: FromStore) => void
  health: StorageHealth
  wal: WalSize
  /** If absent, commits checkpoint by themselves. */
  checkpoints?: { look(): void }
  /** If absent, a write-ahead log that was removed after a crash is not noticed. */
  mark?: CommittedMark
  /** Called after some seconds without work, to free memory. */
  rest?: () => void
  /** Whether messages were posted for which somebody waits, and not delivered yet; by default never. */
  isAwaited?: () => boolean
  clock: Pick<Clock, 'monotonicMs'>
  timers: Timers
}

const never = (): boolean => false

/**
 * Schedules the work of the store thread. Requests come first, since their senders wait; linking runs in between, so that it never starves;
 * settling, pruning and exporter positions run at intervals. Failed work is retried at the next interval, even if no requests arrive.
 */
export class StoreScheduler {
  readonly #writer: StoreWriter
  readonly #settings: StoreSchedulerSettings
  readonly #guard: StorageGuard
  readonly #requests: IngestQueue
  readonly #linking: LinkScheduler
  readonly inference: InferenceScheduler
  readonly #pruning: PruneScheduler
  readonly exporterReports: ExporterReports
  readonly #walUpkeep: WalUpkeep
  readonly #intervals: Cancel[] = []
  #nextTurn: Cancel | undefined
  #observationTimer: Cancel | undefined
  #observationsStoredMs = -Infinity
  #workedMs: number
  #isResting = false
  /** False after all blocks were summarized, or that failed, until the next report. */
  #areSpanBlocksDue = true
  #isStopped = false

  constructor(writer: StoreWriter, settings: StoreSchedulerSettings) {
    const { post, health, wal, checkpoints, mark, isAwaited = never, clock, timers } = settings
    const nowMs = (): number => clock.monotonicMs()
    const guard = new StorageGuard(health, post)
    this.#writer = writer
    this.#settings = settings
    this.#guard = guard
    this.#workedMs = nowMs()
    this.#requests = new IngestQueue({ writer, post, health, nowMs })
    this.#linking = new LinkScheduler({
      ...{ writer, guard, post, nowMs },
      isMixed: () => this.#requests.isMixed,
      isAwaited: () => this.#requests.size > 0 || isAwaited(),
    })
    this.inference = new InferenceScheduler({
      ...{ transactions: writer.inference, guard, health, post, nowMs },
      areRequestsWaiting: () => this.#requests.size > 0,
    })
    this.#pruning = new PruneScheduler({ writer, post, nowMs, timers }, () => this.#prune())
    this.exporterReports = new ExporterReports({ writer, guard, post })
    this.#walUpkeep = new WalUpkeep({ wal, checkpoints, mark, guard, post })
  }

  start(): void {
    const { pruneIntervalMs } = this.#settings
    this.#every(SETTLE_EVERY_MS, () => this.#settle())
    this.#every(SAVE_EVERY_MS, () => this.exporterReports.save())
    this.#every(REPORT_EVERY_MS, () => this.#report())
    this.#every(MARK_EVERY_MS, () => this.#walUpkeep.note(this.#writer.progress.lastArrival))
    this.#every(REPORT_EVERY_MS, () =>
      this.#walUpkeep.shorten(this.#requests.size > 0 || this.#writer.linkLag > 0),
    )
    this.#every(REPORT_EVERY_MS, () => this.#restWhenQuiet())
    if (pruneIntervalMs > 0) this.#every(pruneIntervalMs, () => this.#prune())
    this.#report()
    this.#turnSoon()
  }

  add(request: Ingest): void {
    this.#requests.add(request)
    this.#turnSoon()
  }

  /** Queues observations of a cluster. */
  observe(message: Extract<ToStore, { kind: 'observe' }>): void {
    this.inference.add(message)
    const { clock, timers } = this.#settings
    const sinceMs = clock.monotonicMs() - this.#observationsStoredMs
    if (sinceMs >= STORE_OBSERVATIONS_EVERY_MS) this.#turnSoon()
    else {
      this.#observationTimer ??= timers.after(STORE_OBSERVATIONS_EVERY_MS - sinceMs, () => {
        this.#observationTimer = undefined
        this.#turnSoon()
      })
    }
  }

  /** Stores the items that an exporter could not send. */
  setAside(items: readonly SetAside[]): void {
    this.exporterReports.setAside(items)
    this.exporterReports.save()
  }

  /** Stores everything queued, and links within the grace period. */
  catchUp(graceMs: number): void {
    this.#storeAll()
    this.#linking.link(this.#settings.clock.monotonicMs() + graceMs)
    this.#settings.post({ kind: 'caughtUp', lastDecisions: this.#writer.lastDecisions })
  }

  /** Stores everything queued, then stops; nothing uses the database afterwards. */
  stop(): void {
    this.#isStopped = true
    this.#nextTurn?.()
    this.#observationTimer?.()
    for (const cancel of this.#intervals) cancel()
    this.#pruning.stop()
    this.#storeAll()
    this.exporterReports.save()
  }

  #storeAll(): void {
    while (this.#requests.size > 0) this.#requests.turn()
    this.inference.storeAll()
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
    if (this.inference.isDue) {
      this.inference.turn()
      this.#observationsStoredMs = clock.monotonicMs()
    }
    this.#walUpkeep.move()
    if (this.#isBusy) this.#turnSoon()
  }

  /** Settles; also retries linking that failed, and links if no requests arrive. */
  #settle(): void {
    this.inference.decide()
    this.#decidePodPoints()
    this.#linking.settle()
    this.#linking.tryAgain()
    if (this.#isBusy) this.#turnSoon()
    else if (this.#areSpanBlocksDue) this.#keepSpanBlocks()
  }

  get #isBusy(): boolean {
    return this.#requests.size > 0 || this.#linking.isDue || this.inference.isDue
  }

  #keepSpanBlocks(): void {
    const startedMs = this.#settings.clock.monotonicMs()
    this.#areSpanBlocksDue = false
    this.#guard.run('noting for searches what spans contain', () => {
      this.#areSpanBlocksDue = this.#writer.keepSpanBlocks(
        () => this.#settings.clock.monotonicMs() - startedMs < SPAN_BLOCKS_MS,
      )
    })
  }

  /** Runs for a short time, since senders wait meanwhile. */
  #decidePodPoints(): void {
    const startedMs = this.#settings.clock.monotonicMs()
    this.#guard.run('keeping points of Pods', () => {
      if (!this.#writer.reader.arePodPointsDue()) return
      this.#writer.decidePodPoints(() => this.#settings.clock.monotonicMs() - startedMs < POD_POINTS_MS)
    })
  }

  #prune(): void {
    this.#guard.run('pruning', () => this.#pruning.turn())
    this.#linking.tellSetAside()
    this.#walUpkeep.move()
  }

  #report(): void {
    const { post, wal, health } = this.#settings
    this.#areSpanBlocksDue = true
    post({ kind: 'alive' })
    this.#guard.run('reading the gauges', () => {
      const sizes = { walBytes: wal.bytes(), freeBytes: wal.freeBytes() }
      post({ kind: 'gauges', gauges: { lag: this.#writer.linkLag, ...this.#writer.gauges(), ...sizes } })
    })
    // Without requests, nothing else would show that the fault is over.
    if (health.fault === undefined) return
    this.#guard.run('writing', () => {
      this.#writer.tryWriting()
      health.noteSuccess()
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

type ExporterMoved = Extract<ToStore, { kind: 'exporterMoved' }>

/** As many as the table holds. In both, the oldest are dropped first. */
const MAX_SET_ASIDE = 1_000

interface ExporterReportParts {
  writer: StoreWriter
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** Reports of exporters that are not saved yet: positions, and items that could not be sent. */
class ExporterReports {
  readonly #parts: ExporterReportParts
  readonly #moved = new Map<string, ExporterMoved>()
  readonly #archived = new Map<string, MovedArchive>()
  #setAside: SetAside[] = []

  constructor(parts: ExporterReportParts) {
    this.#parts = parts
  }

  moved(message: ExporterMoved): void {
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

  /** Saves the items before the positions: an exporter that restarts from a saved position does not meet them again. */
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

/** From this size on, the operator is told why the write-ahead log grows. */
const WARN_BYTES = 256 * MIB

const HELD =
  `the write-ahead log of the database has grown past ${WARN_BYTES / MIB} MiB, because a program keeps a read ` +
  'of the database open; end that program (fuser -v on the database names it), and Causeway shortens the log by itself'

interface WalUpkeepParts {
  wal: WalSize
  /** If absent, commits checkpoint by themselves. */
  checkpoints?: { look(): void } | undefined
  /** If absent, a log that was removed after a crash is not noticed. */
  mark?: CommittedMark | undefined
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** Decides when to checkpoint the write-ahead log, and when to truncate it. */
class WalUpkeep {
  readonly #parts: WalUpkeepParts

  constructor(parts: WalUpkeepParts) {
    this.#parts = parts
  }

  /** Checkpoints if it is due. Call it after commits. */
  move(): void {
    const { checkpoints, guard } = this.#parts
    if (checkpoints !== undefined)
      guard.run('moving the write-ahead log into the database', () => checkpoints.look())
  }

  /** Writes the number of arrivals beside the database. Call it outside transactions. */
  note(arrivals: number): void {
    this.#parts.mark?.write(arrivals)
  }

  /** Truncates the log if no request waits, or if it has grown very long. */
  shorten(isBusy: boolean): void {
    const { wal, guard, post } = this.#parts
    guard.run('shortening the write-ahead log', () => {
      if (isBusy && wal.bytes() < WARN_BYTES) return
      if (wal.shorten() === 'held' && wal.bytes() >= WARN_BYTES) post({ kind: 'notice', reason: HELD })
    })
  }
}
