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

/** Which stores a savepoint changes: their caches are dropped when it is rolled back. */
export type PartOf = 'pruning' | 'positions'

/** Everything that can be read and written, inside one transaction. */
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
  readonly told: ReportedWrites
  readonly held: HeldItems
  readonly metrics: MetricStore
  readonly positions: Readonly<Record<Signal, PositionStore>>
  readonly archives: ArchiveStore
  /** Runs one round of linking, then writes what it left in memory. */
  readonly linkRound: <T>(work: () => T) => T
  /**
   * Runs `part` in a savepoint. If it throws, its writes are rolled back and the error is thrown on; the transaction may continue.
   */
  readonly attempt: <T>(of: PartOf, part: () => T) => T
}

/** The counters that outlive rows, and the time at the start of the last transaction. */
export interface WriterProgress {
  /** Unix milliseconds, and milliseconds of up time. */
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
  /** Items that were set aside and are remembered. */
  setAside: number
  cpids: number
  tombstones: number
  usedBytes: number
}

/** Can be called at any time, also between transactions. */
export interface WriterReader {
  readonly progress: WriterProgress
  /** Explanations of CPIDs were postponed to a later turn. */
  readonly hasPostponedExplanation: boolean
  /** What an event released is left to a later turn, or that is not known before the next one. */
  readonly mayStepsBeUnfinished: boolean
  /** Whether something has waited long enough, or a trace may settle. */
  isAnythingDue(): boolean
  /** Whether an item was held so long that no source may still report its write. */
  areHeldItemsDue(): boolean
  /** Whether points of Pods have waited long enough, or take too much room. */
  arePodPointsDue(): boolean
  /** The position of each exporter. */
  positions(signal: Signal): Map<string, number>
  gauges(): StoredGauges
}

/** A database, as the writer uses it. */
export interface WriterDatabase {
  readonly transactor: Transactor<Stores>
  /** Commits all transactions that `work` runs in one commit, or none of them if it throws. */
  readonly inOneCommit: <T>(work: () => T) => T
  readonly reader: WriterReader
  readonly faults: StorageFaults
}

/** A cache of rows. */
export interface Cached {
  /** Drops everything: the rows may have changed. */
  forget(): void
}

export interface RunOptions {
  /** Skips the commit, and so the wait for the disk, if nothing was written. */
  mayOnlyRead?: boolean
}

/**
 * Runs work in transactions. `Inside`, the stores, is handed to the work alone, so that nothing can write outside a transaction. It
 * is made once, so that a transaction allocates no objects.
 */
export interface Transactor<Inside> {
  /** Runs `work` and commits. If it throws: rolls back, drops all caches, and throws on. */
  run<T>(work: (inside: Inside) => T, options?: RunOptions): T
  /**
   * The same transactions, handing out what `make` builds on the stores. `outside` may be used at any time, and must neither read
   * nor write the database.
   */
  with<More, Outside>(
    make: (inside: Inside) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside }
  /** Adds a cache to drop after a rollback and when another process wrote. */
  alsoForget(cached: Cached): void
}

/** Items that were set aside, and how to skip one, inside a transaction. */
export interface SetAsideStore {
  /** Skips the first unfinished step, and what it is about: it is never sent. Undefined when there is none. */
  skipStep(reason: string): SetAside | undefined
  /** Skips the next arrival; undefined when there is none. */
  skipArrival(reason: string): SetAside | undefined
  /** Skips the span, change or log record that is due first: it is never sent. */
  skipWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined
  /** Settles the trace that is due first, without sending its `cascade` span. */
  skipTrace(reason: string): SetAside | undefined
  /** Notes that a CPID cannot be pruned. */
  addUnprunable(cpid: number, reason: string): SetAside
  add(item: SetAside): void
}

/** What searches know of blocks of stored spans without reading them. */
export interface KeptSpanBlocks {
  /** Reads blocks of which nothing is kept yet, until `mayGoOn` returns false; true if there may be more. */
  keep(mayGoOn: () => boolean): boolean
}

export interface HousekeepingResult {
  /** There is more to remove. */
  readonly more: boolean
  /** Rows that nothing refers to still take room, so `max_bytes` removes nothing else yet. */
  readonly isCrowded: boolean
  /** Data points that were removed although an exporter had not sent them. */
  readonly unsent: number
}

/** Bounds the tables that belong to no CPID, inside a transaction. */
export interface Housekeeper {
  /** `isAgeKnown`: the wall clock can be trusted. */
  sweep(isAgeKnown: boolean): HousekeepingResult
}

/** The position of each exporter of a signal in its outbox, inside a transaction. */
export interface PositionStore {
  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns their positions. */
  keep(names: readonly string[], end: number): Map<string, number>
  moveTo(name: string, position: number, refused: number): void
}

/** Which arrival was the last at which time, inside a transaction. */
export interface ArrivalMarks {
  /** The wall-clock time of the newest mark, Unix milliseconds. */
  lastMarkMs(): number | undefined
  /** Records which arrival is the last now. */
  mark(): void
}

/** Retention limits; 0 means off. */
export interface Retention {
  maxCpids: number
  maxAgeMs: number
  maxBytes: number
}

/** A live CPID that no edge points to. */
export interface PruneCandidate {
  readonly id: number
  /** Its mergelog's time; a time of zero or in the future counts as the arrival, no mergelog as the first sighting. */
  readonly timeNs: UnixNanos
}

export interface PruneCounts {
  cpids: number
  spans: number
  logs: number
  /** CPIDs that were removed although their cascade was open or not sent everywhere yet. */
  unsettled: number
  /** What has no CPID and was removed although it waited or was not sent everywhere yet: spans, log records, data points. */
  unsent: number
}

export function noPruneCounts(): PruneCounts {
  return { cpids: 0, spans: 0, logs: 0, unsettled: 0, unsent: 0 }
}

/** By what a turn of pruning may decide. */
export interface PruneConditions {
  /** The wall clock can be trusted; otherwise nothing is removed for its age. */
  isAgeKnown?: boolean
  /** The used bytes are those of useful rows; otherwise nothing is removed for `max_bytes`. */
  isRoomKnown?: boolean
  /** The turn ends once this returns false. */
  mayGoOn?: (() => boolean) | undefined
}

/** How far linking, exporting and time have come: what a CPID may have to wait for before it is removed. */
export interface ProcessedUpTo {
  /** The decision about spans that every exporter and archive has passed; Infinity without any. */
  decision: number
  /** The same of log records. */
  logDecision: number
  /** The arrival that the linker and every archive have passed. */
  arrival: number
  /** Up time and wall-clock time in milliseconds. */
  activeMs: number
  wallMs: number
}

/** What keeps a CPID from being removed: until `until` has reached `at`, at least. */
export interface PruneHold {
  readonly until: keyof ProcessedUpTo
  readonly at: number
}

/** A CPID to be removed, since no edge points to it any more; a forced one whatever holds it. */
export interface CpidToPrune {
  readonly id: number
  readonly forced: boolean
}

/** The result of one step of a removal: all is removed, more is left, or something holds the CPID after all. */
export interface RemovalStep {
  rows: number
  outcome: 'gone' | 'more' | PruneHold
}

/**
 * Does work about one CPID. False when it threw for that CPID alone: its writes are rolled back and the CPID is set aside.
 */
export type PruneAttempt = (cpid: number, does: 'reads' | 'writes', work: () => void) => boolean

/** What pruning reads and removes, inside one transaction. No call costs more than its `limit`, whatever is stored. */
export interface PruneStore {
  /** Called first in each transaction. */
  begin(): void
  readonly processedUpTo: ProcessedUpTo
  readonly lastArrival: number
  countCpids(): number
  /** Pages in use, in bytes: a SQLite file does not shrink. */
  usedBytes(): number
  /** Candidates oldest first, after a given one and before another. */
  candidates(
    after: PruneCandidate | undefined,
    before: PruneCandidate | undefined,
    limit: number,
  ): PruneCandidate[]
  /** The places of CPIDs among the candidates, by their mergelogs after an arrival, in order of arrival. */
  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[]
  /** Wall-clock time of the last activity of the CPID, or of its first sighting. */
  lastActivityMs(cpid: number): number
  /** What holds it: an open cascade, something that is not linked or waits, or an exporter that has not sent all of it. */
  hold(cpid: number): PruneHold | undefined
  /** Records that the CPID is to be removed, so that the removal continues after a restart. */
  markForRemoval(cpid: number, forced: boolean): void
  markedForRemoval(limit: number): CpidToPrune[]
  /** Takes the mark away; returns its place among the candidates. */
  unmark(cpid: number): PruneCandidate
  /** Removes some of what belongs to the CPID, but not its mergelog or its place in the graph; unforced only what nothing holds. */
  removeSome(cpid: number, limit: number, forced: boolean, counts: PruneCounts): RemovalStep
  removeEdge(source: number, target: number): void
  /** Removes the CPID but for a tombstone, which knows the root's next episode. */
  leaveTombstone(cpid: number): void
  /** Reads more of what is not sent yet, of which any span without a CPID may be part; true once all is read. */
  readUnsent(): boolean
  /**
   * Removes the oldest spans and log records without a CPID that arrived before a time; returns how many it looked at. Unforced
   * only those that are linked and sent; forced also the others, which it counts.
   */
  removeUnattributed(beforeMs: number, limit: number, forced: boolean, counts: PruneCounts): number
  /** The start of the oldest span without a CPID that may be removed. */
  oldestUnattributedNs(forced: boolean): UnixNanos | undefined
  /** Looks at some tombstones, and removes the oldest beyond `keep` that no stored trace refers to; 0 when all were looked at. */
  removeOldTombstones(keep: number, limit: number): number
  /** Forgets hashes of requests that arrived before a time; returns how many. */
  removeRequests(beforeMs: number, limit: number): number
}

/** The result of truncating the write-ahead log: it was short, it was shortened, or a reader prevents it. */
export type WalTruncation = 'short' | 'shortened' | 'held'

/** The write-ahead log of the database; to be used outside of transactions. */
export interface WalSize {
  /** Its length; 0 for a database in memory. */
  bytes(): number
  /** Free bytes on its disk, for this user. */
  freeBytes(): number
  /** Truncates a log that has grown long. Never waits for a reader, since senders wait for the writer. */
  shorten(): WalTruncation
}

/** A file beside the database that says how many arrivals are committed. */
export interface CommittedMark {
  write(arrivals: number): void
}

/** Pages in the write-ahead log, and how many of them are in the database already. */
export interface WalPages {
  readonly log: number
  readonly checkpointed: number
}

/** Moves the write-ahead log into the database, on a connection of its own or on the writer's, outside of transactions. */
export interface WalCheckpointer {
  /** Reads the sizes; moves nothing. */
  pages(): WalPages
  /** Checkpoints as many pages as readers allow, without waiting for them. */
  move(): void
  /** Sets the length from which on commits checkpoint by themselves. */
  moveWithCommitsFrom(pages: number): void
}
