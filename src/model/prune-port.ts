import type { UnixNanos } from './clock.ts'

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
}

/** What the pruning rule reads and removes, inside one transaction. */
export interface PruneStore {
  readonly wallMs: number
  countCpids(): number
  /** Pages in use, in bytes: a SQLite file does not shrink. */
  usedBytes(): number
  /** Candidates oldest first, after a given one. */
  candidates(after: PruneCandidate | undefined, limit: number): PruneCandidate[]
  /** Wall-clock time of the last activity in any of the root's traces, or of its first sighting. */
  lastActivityMs(cpid: number): number
  /** Its cascade is open, something of it waits, or some exporter has not sent all of it. */
  isHeld(cpid: number): boolean
  /** Removes what belongs to the CPID, all but its place in the graph. */
  removeBelongings(cpid: number, counts: PruneCounts): void
  removeEdge(source: number, target: number): void
  /** Leaves a tombstone that knows the root's next episode. */
  bury(cpid: number): void
  /** Removes the oldest spans and logs without a CPID that arrived before a time; returns how many went. */
  removeUnattributed(beforeMs: number, limit: number, counts: PruneCounts): number
  /** The start of the oldest span without a CPID that may go. */
  oldestUnattributedNs(): UnixNanos | undefined
  removeOldTombstones(keep: number): void
  /** Forgets the hashes of requests that arrived before a time. */
  removeRequests(beforeMs: number): void
}
