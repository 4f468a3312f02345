import type { Mended } from '../../model/salvaged.ts'
import { MalformedOtlp } from '../../otlp/read/malformed.ts'
import { readReceived } from '../../otlp/read/read-received.ts'
import type { Sqlite } from '../open-database.ts'
import { MEND_ARRIVALS } from './mend-arrivals.ts'
import { MEND_COUNTERS } from './mend-counters.ts'
import { MEND_DECISIONS } from './mend-decisions.ts'
import { MEND_GRAPH } from './mend-graph.ts'

/**
 * Makes what was salvaged agree with itself again, in this order. What can be worked out from something else is; what
 * refers to something lost is removed.
 */
const STEPS = [...MEND_ARRIVALS, ...MEND_GRAPH, ...MEND_DECISIONS, ...MEND_COUNTERS]

/** Mends a salvaged database in one transaction; returns what an operator may want to know of it. */
export function mend(db: Sqlite, isProgressLost: boolean): Mended[] {
  db.function('received_trace_id', { deterministic: true }, receivedTraceId)
  return db.transaction(() => {
    const mended: Mended[] = []
    // What is not in the index is read when Causeway starts; without progress that would be all of it.
    if (isProgressLost)
      db.exec('UPDATE progress SET indexed_origins = coalesce((SELECT max(origin) FROM spans), 0)')
    for (const [what, step] of STEPS) {
      const rows = typeof step === 'string' ? db.prepare(step).run().changes : step(db)
      if (what !== '' && rows > 0) mended.push({ what, rows })
    }
    // Without it nobody knows what was linked; linking all of it again would send everything twice.
    if (isProgressLost) db.exec('UPDATE progress SET linked_arrival = last_arrival')
    return mended
  })()
}

/** The trace id in a span's bytes; null where they do not say. */
function receivedTraceId(raw: unknown): Buffer | null {
  try {
    const { traceId } = readReceived(raw as Buffer)
    return traceId.length === 16 ? traceId : null
  } catch (error) {
    if (error instanceof MalformedOtlp) return null
    throw error
  }
}
