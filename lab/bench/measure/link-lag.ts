import { setTimeout as pause } from 'node:timers/promises'
import { openForReading } from '../../../src/store/sqlite/open-database.ts'

const LOOK_AGAIN_MS = 100
const LONGEST_MS = 60_000

/** How many arrivals the Causeway at work on a database has not linked yet. */
export function linkLag(path: string): number {
  const db = openForReading(path)
  try {
    const lag = db.prepare<[], number>('SELECT last_arrival - linked_arrival FROM progress').pluck().get()
    return lag ?? Number.NaN
  } finally {
    db.close()
  }
}

/** Resolves once everything is linked that has come in. */
export async function untilLinked(path: string): Promise<void> {
  const deadline = performance.now() + LONGEST_MS
  while (linkLag(path) > 0) {
    if (performance.now() > deadline) throw new Error(`not linked after ${LONGEST_MS / 1000} s`)
    await pause(LOOK_AGAIN_MS)
  }
}
