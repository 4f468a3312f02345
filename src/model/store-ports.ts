import type { ArchiveStore } from './archive.ts'
import type { ArrivalStore } from './arrivals.ts'
import type { SetAside, StorageFaults } from './faults.ts'
import type { InferenceStore } from './inference-store.ts'
import type { LinkPorts } from './linking-ports.ts'
import type { MergeGraph } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'
import type { MetricStore } from './pod-stats.ts'
import type { UnixNanos } from './time-and-size.ts'
import type { HeldItems, ReportedWrites } from './reported-writes.ts'

/** The stores that a savepoint changes; their caches are dropped when it is rolled back. */
export type PartOf = 'pruning' | 'positions'

/** All stores, inside one transaction. */
export interface Stores {
  readonly arrivals: ArrivalStore
  readonly graph: MergeGraph
  readonly links: LinkPorts
  readonly pruning: PruneStore
  readonly keeper: Housekeeper
  readonly spanBlocks: KeptSpanBlocks
  readonly marks: ArrivalMarks
  readonly setAside: SetAsideStore
  readonly inference: InferenceStore
  readonly reportedWrites: ReportedWrites
  readonly held: HeldItems
  readonly metrics: MetricStore
  readonly positions: Readonly<Record<Signal, PositionStore>>
  readonly archives: ArchiveStore
  /** Runs a round of linking, then writes the rows that it changed in memory. */
  readonly linkRound: <T>(work: () => T) => T
  /** Runs `part` in a savepoint. If it throws, its writes are rolled back and the error is rethrown; the transaction may continue. */
  readonly attempt: <T>(of: PartOf, part: () => T) => T
}

/** Counters that outlive rows, and the time at the start of the last transaction. */
export interface WriterProgress {
  /** Wall-clock time and up time in milliseconds. */
  readonly wallMs: number
  readonly activeMs: number
  readonly lastArrival: number
  readonly linkedArrival: number
  readonly lastDecision: number
  readonly lastLogDecision: number
  readonly lastMetricDecision: number
}

export interface StoredGauges {
  waiting: number
  openTraces: number
  /** The number of stored items that were set aside. */
  setAside: number
  cpids: number
  tombstones: number
  usedBytes: number
}

/** May be called at any time, also between transactions. */
export interface WriterReader {
  readonly progress: WriterProgress
  /** Whether explanations of CPIDs were postponed. */
  readonly hasPostponedExplanation: boolean
  /** Whether steps of the linker are unfinished, or that will only be known in the next turn. */
  readonly mayStepsBeUnfinished: boolean
  /** Whether a wait is over, or a trace may settle. */
  isAnythingDue(): boolean
  /** Whether an item was held so long that no source will report its write any more. */
  areHeldItemsDue(): boolean
  /** Whether points of Pods were held long enough, or take too much room. */
  arePodPointsDue(): boolean
  /** The position of each exporter. */
  positions(signal: Signal): Map<string, number>
  gauges(): StoredGauges
}

/** The database, as the writer uses it. */
export interface WriterDatabase {
  readonly transactor: Transactor<Stores>
  /** Runs `work` with all its transactions in one commit; none of them if it throws. */
  readonly inOneCommit: <T>(work: () => T) => T
  readonly reader: WriterReader
  readonly faults: StorageFaults
}

/** A cache of rows. */
export interface Cached {
  /** Drops all entries: the rows may have changed. */
  forget(): void
}

export interface RunOptions {
  /** Whether to skip the commit, and the wait for the disk, if nothing was written. */
  mayOnlyRead?: boolean
}

/**
 * Runs work in transactions. Only the work gets `Inside`, the stores, so nothing can write outside a transaction. `Inside` is made once, so
 * that a transaction allocates no objects.
 */
export interface Transactor<Inside> {
  /** Runs `work` and commits. If it throws, rolls back, drops all caches, and rethrows. */
  run<T>(work: (inside: Inside) => T, options?: RunOptions): T
  /**
   * A transactor for the same transactions that hands out what `make` builds from the stores. `outside` may be used at any time, and must
   * neither read nor write the database.
   */
  with<More, Outside>(
    make: (inside: Inside) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside }
  /** Registers a cache that is dropped after a rollback, and when another process wrote. */
  alsoForget(cached: Cached): void
}

/** Skips items that cannot be processed, inside a transaction. */
export interface SetAsideStore {
  /** Skips the first unfinished step and its item, which is never sent. Undefined if there is none. */
  skipStep(reason: string): SetAside | undefined
  /** Skips the next arrival; undefined if there is none. */
  skipArrival(reason: string): SetAside | undefined
  /** Skips the span, change or log record that is due first, which is never sent. */
  skipWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined
  /** Settles the trace that is due first, without sending its `cascade` span. */
  skipTrace(reason: string): SetAside | undefined
  /** Records that a CPID cannot be pruned. */
  addUnprunable(cpid: number, reason: string): SetAside
  add(item: SetAside): void
}

/** Summaries of blocks of stored spans, by which searches skip blocks. */
export interface KeptSpanBlocks {
  /** Summarizes blocks until `mayGoOn` returns false. True if there may be more. */
  keep(mayGoOn: () => boolean): boolean
}

export interface HousekeepingResult {
  /** Whether there is more to remove. */
  readonly more: boolean
  /** Whether unreferenced rows still take space; until they are removed, `max_bytes` removes nothing else. */
  readonly isCrowded: boolean
  /** Data points that were removed before every exporter had sent them. */
  readonly unsent: number
}

/** Bounds the tables whose rows belong to no CPID, inside a transaction. */
export interface Housekeeper {
  /** `isAgeKnown`: whether the wall clock can be trusted. */
  sweep(isAgeKnown: boolean): HousekeepingResult
}

/** The outbox positions of the exporters of a signal, inside a transaction. */
export interface PositionStore {
  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns all positions. */
  keep(names: readonly string[], end: number): Map<string, number>
  moveTo(name: string, position: number, refused: number): void
}

/** Records which arrival was the last at which time, inside a transaction. */
export interface ArrivalMarks {
  /** The wall-clock time of the newest mark in milliseconds. */
  lastMarkMs(): number | undefined
  /** Marks the last arrival with the current time. */
  mark(): void
}

/** Retention limits; 0 means off. */
export interface Retention {
  maxCpids: number
  maxAgeMs: number
  maxBytes: number
}

/** A live root CPID. */
export interface PruneCandidate {
  readonly id: number
  /** The time of its mergelog. If that is zero or in the future, the arrival of the mergelog; without a mergelog, the first sighting. */
  readonly timeNs: UnixNanos
}

export interface PruneCounts {
  cpids: number
  spans: number
  logs: number
  /** CPIDs that were removed before their cascade had settled and was sent everywhere. */
  unsettled: number
  /** Spans, log records and data points without a CPID that were removed while they waited or were not sent everywhere. */
  unsent: number
}

export function noPruneCounts(): PruneCounts {
  return { cpids: 0, spans: 0, logs: 0, unsettled: 0, unsent: 0 }
}

/** The conditions of a turn of pruning. */
export interface PruneConditions {
  /** Whether the wall clock can be trusted; otherwise nothing is removed for its age. */
  isAgeKnown?: boolean
  /** Whether all used bytes are of referenced rows; otherwise nothing is removed for `max_bytes`. */
  isRoomKnown?: boolean
  /** The turn ends once this returns false. */
  mayGoOn?: (() => boolean) | undefined
}

/** How far linking, exporting and time have come. A CPID may have to wait for these before it is removed. */
export interface ProcessedUpTo {
  /** The decision about spans that all exporters and archives have passed; Infinity without any. */
  decision: number
  /** The decision about log records that all exporters have passed. */
  logDecision: number
  /** The arrival that the linker and all archives have passed. */
  arrival: number
  /** Up time and wall-clock time in milliseconds. */
  activeMs: number
  wallMs: number
}

/** Why a CPID cannot be removed: at least until the progress `until` has reached `at`. */
export interface PruneHold {
  readonly until: keyof ProcessedUpTo
  readonly at: number
}

/** A CPID to remove, since it has no sources any more; if `forced`, holds are ignored. */
export interface CpidToPrune {
  readonly id: number
  readonly forced: boolean
}

/** The result of a step of a removal: everything is removed, more is left, or the CPID is held after all. */
export interface RemovalStep {
  /** How many rows it removed. One with a long text or body counts as several. */
  rows: number
  outcome: 'gone' | 'more' | PruneHold
}

/** Does work for one CPID. If it throws for reasons of that CPID, rolls back its writes, sets the CPID aside, and returns false. */
export type PruneAttempt = (cpid: number, does: 'reads' | 'writes', work: () => void) => boolean

/** What pruning reads and removes, inside one transaction. The cost of each call is bounded by its `limit`. */
export interface PruneStore {
  /** Called first in each transaction. */
  begin(): void
  readonly processedUpTo: ProcessedUpTo
  readonly lastArrival: number
  countCpids(): number
  /** The bytes of the pages in use: a SQLite file does not shrink. */
  usedBytes(): number
  /** Candidates between two others, oldest first. */
  candidates(
    after: PruneCandidate | undefined,
    before: PruneCandidate | undefined,
    limit: number,
  ): PruneCandidate[]
  /** The positions of CPIDs among the candidates, for mergelogs after an arrival, in order of arrival. */
  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[]
  /** The wall-clock time of the CPID's last activity, or else of its first sighting. */
  lastActivityMs(cpid: number): number
  /** What holds it: an open cascade, an unlinked or waiting item, or an exporter that has not sent everything. */
  hold(cpid: number): PruneHold | undefined
  /** Marks the CPID for removal, so that its removal resumes after a restart. */
  markForRemoval(cpid: number, forced: boolean): void
  markedForRemoval(limit: number): CpidToPrune[]
  /** Removes the mark. Returns its position among the candidates. */
  unmark(cpid: number): PruneCandidate
  /** Removes rows of the CPID, but not its mergelog and its node. Unless forced, only rows that nothing holds. */
  removeSome(cpid: number, limit: number, forced: boolean, counts: PruneCounts): RemovalStep
  removeEdge(source: number, target: number): void
  /** Replaces the CPID by a tombstone, which remembers the root's next episode. */
  leaveTombstone(cpid: number): void
  /** Reads the next part of what is not sent yet, since it may include spans without a CPID. True once everything is read. */
  readUnsent(): boolean
  /**
   * Removes the oldest spans and log records without a CPID that arrived before a time. Returns how many it examined, and how many rows it
   * removed. Unless forced, only those that are linked and sent; if forced, also others, which it counts.
   */
  removeUnattributed(
    beforeMs: number,
    limit: number,
    forced: boolean,
    counts: PruneCounts,
  ): { looked: number; rows: number }
  /** The start of the oldest span without a CPID that may be removed. */
  oldestUnattributedNs(forced: boolean): UnixNanos | undefined
  /** Examines some tombstones, and removes the oldest beyond `keep` to which no stored trace refers. Returns 0 when all were examined. */
  removeOldTombstones(keep: number, limit: number): number
  /** Removes hashes of requests that arrived before a time. Returns how many. */
  removeRequests(beforeMs: number, limit: number): number
}

/** The result of truncating the write-ahead log: it was short already, it was truncated, or a reader prevents that. */
export type WalTruncation = 'short' | 'shortened' | 'held'

/** The write-ahead log of the database; used outside transactions. */
export interface WalSize {
  /** Its size; 0 for an in-memory database. */
  bytes(): number
  /** Bytes on its disk that are free for this user. */
  freeBytes(): number
  /** Truncates a long log. Never waits for readers, since senders wait for the writer. */
  shorten(): WalTruncation
}

/** A file beside the database with the number of committed arrivals. */
export interface CommittedMark {
  write(arrivals: number): void
}

/** The pages in the write-ahead log, and how many of them were checkpointed. */
export interface WalPages {
  readonly log: number
  readonly checkpointed: number
}

/** Checkpoints the write-ahead log, on a connection of its own or on the writer's, outside transactions. */
export interface WalCheckpointer {
  /** Reads the numbers without checkpointing. */
  pages(): WalPages
  /** Checkpoints as many pages as readers allow, without waiting for them. */
  move(): void
  /** Sets the number of pages from which on a commit checkpoints (wal_autocheckpoint). */
  moveWithCommitsFrom(pages: number): void
}
