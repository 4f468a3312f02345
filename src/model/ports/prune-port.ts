import type { UnixNanos } from '../clock.ts'

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
export interface PruneLook {
  /** The calendar may be believed; while it may not, nothing is removed for its age. */
  isAgeKnown?: boolean
  /** Nothing useless takes room; while it does, nothing is removed for its bytes. */
  isRoomKnown?: boolean
  /** No more is done once it says no. */
  mayGoOn?: (() => boolean) | undefined
}

/** How far everything has come that a CPID may be held for. */
export interface Reached {
  /** The decision about spans that every exporter has got to; Infinity without exporters. */
  decision: number
  /** The same of log records. */
  logDecision: number
  /** The arrival that the linker has got to. */
  arrival: number
  /** Up time and wall-clock time in milliseconds. */
  activeMs: number
  wallMs: number
}

/** Why a CPID may not go, as the earliest point at which that may be over. */
export interface PruneHold {
  readonly until: keyof Reached
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
  readonly reached: Reached
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
