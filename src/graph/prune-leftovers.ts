import type { PruneStore } from '../model/ports/prune-port.ts'
import type { PruneWork } from './prune-work.ts'

const ROWS_AT_ONCE = 100
/** How long a repeated request is recognised. Senders give up on a lost reply after minutes. */
const REQUEST_MEMORY_MS = 3_600_000
const TOMBSTONES_WITHOUT_LIMIT = 1_000_000

export function forgetRequests(store: PruneStore, work: PruneWork): void {
  while (!work.isUp) {
    const removed = store.removeRequests(store.reached.wallMs - REQUEST_MEMORY_MS, ROWS_AT_ONCE)
    work.spend(removed / 2)
    if (removed < ROWS_AT_ONCE) return
  }
}

/** Keeps as many tombstones as CPIDs. */
export function forgetTombstones(store: PruneStore, work: PruneWork, maxCpids: number): void {
  const keep = maxCpids === 0 ? TOMBSTONES_WITHOUT_LIMIT : maxCpids
  while (!work.isUp) {
    const looked = store.removeOldTombstones(keep, ROWS_AT_ONCE)
    if (looked === 0) return
    work.spend(looked / 2)
  }
}
