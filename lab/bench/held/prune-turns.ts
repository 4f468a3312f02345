import { systemClock } from '../../../src/platform/system-clock.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { sqliteStores } from '../../../src/store/sqlite/writer-stores.ts'
import { StoreWriter } from '../../../src/store/store-writer.ts'
import { cpuSeconds } from '../load/messages.ts'

/** As Causeway's own turns. */
const CPIDS = 200
const TURN_MS = 5

interface HeldTurns {
  /** Looking at all that is held once, after a start, in processor time. */
  firstLookCpuMs: number
  longestTurnMs: number
  turns: number
  /** A round when nothing has changed, in processor time. */
  laterRoundCpuMs: number
}

/** Prunes a database of which one CPID may stay and all are held, turn by turn as Causeway does. */
export function pruneHeld(path: string): HeldTurns {
  const db = openForWriting(path)
  try {
    const linking = {
      mode: 'cascade' as const,
      waitMs: 10_000,
      settleAfterMs: 300_000,
      maxOpenMs: 1_800_000,
      maxFanout: 8,
      maxTraceSpans: 10_000,
      maxTraceBytes: 4 * 2 ** 20,
      logs: false,
    }
    const retention = { maxCpids: 1, maxAgeMs: 0, maxBytes: 0 }
    const settings = { linking, maxSources: 1024, retention }
    const writer = new StoreWriter(sqliteStores(db, { retention }, systemClock), settings, systemClock)
    const first = round(writer)
    const later = round(writer)
    return {
      firstLookCpuMs: first.cpuMs,
      longestTurnMs: first.longestMs,
      turns: first.turns,
      laterRoundCpuMs: later.cpuMs,
    }
  } finally {
    db.close()
  }
}

interface Round {
  turns: number
  longestMs: number
  cpuMs: number
}

function round(writer: StoreWriter): Round {
  const before = cpuSeconds()
  const done = { turns: 0, longestMs: 0 }
  for (let more = true; more;) {
    const startedMs = performance.now()
    const result = writer.prune(CPIDS, { mayGoOn: () => performance.now() - startedMs < TURN_MS })
    done.turns++
    done.longestMs = Math.max(done.longestMs, performance.now() - startedMs)
    if (result.cpids > 0) throw new Error('what is held was pruned')
    more = result.more
  }
  return { ...done, cpuMs: (cpuSeconds() - before) * 1000 }
}
