import type { ArchiveStore } from './archive.ts'
import type { ArrivalStore } from './arrivals.ts'
import type { SetAside, StorageFaults } from './faults.ts'
import type { InferenceStore } from './inference-store.ts'
import type { LinkPorts } from './linking-ports.ts'
import type { MergeGraph } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'
import type { UnixNanos } from './time-and-size.ts'

/** What a part of a transaction changes: all of it that is in memory is forgotten when the part is undone. */
export type PartOf = 'pruning' | 'positions'

/** All that can be read and written, inside one transaction. */
export interface Stores {
  readonly arrivals: ArrivalStore
  readonly graph: MergeGraph
  readonly links: LinkPorts
  readonly pruning: PruneStore
  readonly keeper: Housekeeper
  readonly marks: ArrivalMarks
  readonly setAside: SetAsideStore
  readonly inference: InferenceStore
  readonly positions: Readonly<Record<Signal, PositionStore>>
  readonly archives: ArchiveStore
  /** Frames linking, one round in a transaction or a part of it: writes what the work left in memory. */
  readonly linkRound: <T>(work: () => T) => T
  /**
   * Does a part of the work that may fail by itself. On a throw what the part wrote is undone, and it throws on; the rest of the
   * work may go on.
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
}

/** How much is stored. */
export interface StoredGauges {
  waiting: number
  openTraces: number
  /** Items that were set aside and are remembered. */
  setAside: number
  cpids: number
  tombstones: number
  usedBytes: number
}

/** What may be asked at any time, between transactions too. */
export interface WriterReader {
  readonly progress: WriterProgress
  /** There is something to explain that was left for later. */
  readonly hasMoreToExplain: boolean
  /** Something has waited long enough, or a trace may settle. */
  isAnythingDue(): boolean
  /** Where each exporter stands. */
  positions(signal: Signal): Map<string, number>
  gauges(): StoredGauges
}

/** The writer's side of a database. */
export interface WriterStores {
  readonly transactor: Transactor<Stores>
  /** Commits all transactions that are run meanwhile at once, or, where `work` throws, none of them. */
  readonly together: <T>(work: () => T) => T
  readonly reader: WriterReader
  readonly faults: StorageFaults
}

/** Something that keeps rows in memory and must forget them when they may have changed behind its back. */
export interface Cached {
  forget(): void
}

export interface RunOptions {
  /** Where it turns out that nothing was written, nothing is committed, and the disk not waited for. */
  mayOnlyRead?: boolean
}

/**
 * Runs work in transactions, and hands it what may be used in one alone: whoever has only this can write nowhere else.
 * `Inside` is made once, so that a transaction makes no objects.
 */
export interface Transactor<Inside> {
  /** Runs `work` and commits; on a throw rolls back, has all that is cached forgotten, and throws on. */
  run<T>(work: (inside: Inside) => T, options?: RunOptions): T
  /**
   * The same transactions, which hand out what `make` makes of what is handed out here, and what of it may be used at any time:
   * that must neither read nor write what is stored.
   */
  with<More, Outside>(
    make: (inside: Inside) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside }
  /** Has something more forgotten after a rollback, and when another process wrote. */
  alsoForget(cached: Cached): void
}

/** What was set aside, and how to get past it, inside a transaction. */
export interface SetAsideStore {
  /** Moves linking past the next arrival; undefined when there is none. */
  passArrival(reason: string): SetAside | undefined
  /** Lets the span, change or log record that is due first wait no longer, and leave no more. */
  passWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined
  /** Ends the trace that is due first, without a word to backends. */
  passTrace(reason: string): SetAside | undefined
  /** Notes that a CPID cannot be pruned. */
  addUnprunable(cpid: number, reason: string): SetAside
  add(item: SetAside): void
}

/** What came of a turn. */
export interface HousekeepingResult {
  /** There is more to remove. */
  readonly more: boolean
  /** What nothing names takes room still, so that `max_bytes` is no reason yet to remove anything else. */
  readonly isCrowded: boolean
}

/** Keeps small what belongs to no CPID, inside a transaction. */
export interface Housekeeper {
  /** `isAgeKnown`: the calendar may be believed. */
  turn(isAgeKnown: boolean): HousekeepingResult
}

/** How far each exporter of a signal has come in its outbox, inside a transaction. */
export interface PositionStore {
  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns where each stands. */
  keep(names: readonly string[], end: number): Map<string, number>
  moveTo(name: string, position: number, refused: number): void
}

/** Which arrival was the last one at which time, inside a transaction. */
export interface ArrivalMarks {
  /** The time of the newest mark, Unix milliseconds: what the calendar said then. */
  lastMarkMs(): number | undefined
  /** Notes which arrival is the last one now. */
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
  /** CPIDs that went although their cascade was open or not sent everywhere yet. */
  unsettled: number
  /** Spans and log records without a CPID that went although they waited or were not sent everywhere yet. */
  unsent: number
}

export function noPruneCounts(): PruneCounts {
  return { cpids: 0, spans: 0, logs: 0, unsettled: 0, unsent: 0 }
}

/** What a turn of pruning may go by. */
export interface PruneConditions {
  /** The calendar may be believed; while it may not, nothing is removed for its age. */
  isAgeKnown?: boolean
  /** Nothing useless takes room; while it does, nothing is removed for its bytes. */
  isRoomKnown?: boolean
  /** No more is done once it says no. */
  mayGoOn?: (() => boolean) | undefined
}

/** How far everything has come that a CPID may be held for. */
export interface ProcessedUpTo {
  /** The decision about spans that every exporter and archive has got to; Infinity without any. */
  decision: number
  /** The same of log records. */
  logDecision: number
  /** The arrival that the linker and every archive have got to. */
  arrival: number
  /** Up time and wall-clock time in milliseconds. */
  activeMs: number
  wallMs: number
}

/** Why a CPID may not go, as the earliest point at which that may be over. */
export interface PruneHold {
  readonly until: keyof ProcessedUpTo
  readonly at: number
}

/** A CPID that goes, since no edge points to it any more; a forced one whatever holds it. */
export interface CpidToPrune {
  readonly id: number
  readonly forced: boolean
}

/** What one step of a removal came to: all is gone, more is left, or something that must stay came in between. */
export interface RemovalStep {
  rows: number
  outcome: 'gone' | 'more' | PruneHold
}

/**
 * Does a part of the work that is about one CPID. False when it threw for that CPID alone: then all it wrote is undone, and
 * the CPID is set aside.
 */
export type PruneAttempt = (cpid: number, does: 'reads' | 'writes', work: () => void) => boolean

/** What the pruning rule reads and removes, inside one transaction. No call costs more than its `limit`, whatever is stored. */
export interface PruneStore {
  /** Called first in each transaction. */
  begin(): void
  readonly reached: ProcessedUpTo
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
  /** Where the mergelogs after an arrival have put their CPIDs, in the order of their arrival. */
  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[]
  /** Wall-clock time of the last activity of the CPID, or of its first sighting. */
  lastActivityMs(cpid: number): number
  /** Its cascade is open, something of it is not linked or waits, or some exporter has not sent all of it. */
  hold(cpid: number): PruneHold | undefined
  /** Writes down that the CPID goes, so that its removal survives a restart. */
  condemn(cpid: number, forced: boolean): void
  condemned(limit: number): CpidToPrune[]
  /** It stays after all; returns its place among the candidates. */
  spare(cpid: number): PruneCandidate
  /** Removes some of what belongs to the CPID, all but its mergelog and its place in the graph; unforced only what may go. */
  removeSome(cpid: number, limit: number, forced: boolean, counts: PruneCounts): RemovalStep
  removeEdge(source: number, target: number): void
  /** Leaves a tombstone that knows the root's next episode. */
  bury(cpid: number): void
  /** Reads on through what is not sent, of which any span without a CPID may be part; true once it knows all of it. */
  readUnsent(): boolean
  /**
   * Removes the oldest spans and logs without a CPID that arrived before a time; returns how many it looked at. Unforced
   * only what is linked and sent; forced also what is not, which it counts.
   */
  removeUnattributed(beforeMs: number, limit: number, forced: boolean, counts: PruneCounts): number
  /** The start of the oldest span without a CPID that may go. */
  oldestUnattributedNs(forced: boolean): UnixNanos | undefined
  /** Looks at some tombstones, and forgets the oldest beyond `keep` that no stored trace refers to; 0 when all were looked at. */
  removeOldTombstones(keep: number, limit: number): number
  /** Forgets hashes of requests that arrived before a time; returns how many. */
  removeRequests(beforeMs: number, limit: number): number
}

/** What became of a write-ahead log: nothing to do, it was shortened, or a reader keeps it from that. */
export type WalTruncation = 'short' | 'shortened' | 'held'

/** How long the write-ahead log of the database is; to be asked and shortened outside of transactions. */
export interface WalSize {
  /** How long the log is; 0 for a database in memory. */
  bytes(): number
  /** What is free on its disk for whoever runs this, in bytes. */
  freeBytes(): number
  /** Shortens a log that has grown long. Waits for no reader, since senders wait for the writer. */
  shorten(): WalTruncation
}

/** Says beside the database how many arrivals it holds. */
export interface CommittedMark {
  /** So many arrivals are committed. */
  write(arrivals: number): void
}

/** Pages in the write-ahead log, and how many of them are in the database already. */
export interface WalPages {
  readonly log: number
  readonly checkpointed: number
}

/** Moves the write-ahead log into the database, on a connection of its own or on the writer's, outside of transactions. */
export interface WalCheckpointer {
  /** Asks how long the log is, and moves nothing. */
  pages(): WalPages
  /** Copies as much of the log into the database as nobody reads an older state than; waits for nobody. */
  move(): void
  /** Commits move the log by themselves once it is that long. */
  moveWithCommitsFrom(pages: number): void
}
