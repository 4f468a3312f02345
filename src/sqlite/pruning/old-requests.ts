import type { Statements } from './statements.ts'

/** Forgets requests that arrived before a time, some at a time; returns how many. */
export function removeOldRequests(sql: Statements, beforeMs: number, wallMs: number, limit: number): number {
  const page = sql.rows<{ id: number; arrived_ms: number }>(
    'SELECT id, arrived_ms FROM requests ORDER BY id LIMIT +?',
    limit,
  )
  let upTo = 0
  let ahead = 0
  for (const { id, arrived_ms } of page) {
    if (arrived_ms < beforeMs) upTo = id
    else if (arrived_ms > wallMs) ahead = id
    else {
      // One from a time when the clock was ahead is as old as those around it.
      upTo = Math.max(upTo, ahead)
      break
    }
  }
  return upTo === 0 ? 0 : sql.run('DELETE FROM requests WHERE id <= +?', upTo)
}
