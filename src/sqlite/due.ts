import type { Sqlite } from './open-database.ts'

/** Asks whether anything has waited until an up time, or may settle; to be asked outside of transactions too. */
export function dueBy(db: Sqlite): (activeMs: number) => boolean {
  const ask = db
    .prepare<[{ now: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM waiting WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM waiting_logs WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM traces WHERE state = 0 AND due_ms <= @now)`,
    )
    .pluck()
  return (activeMs) => ask.get({ now: activeMs }) === 1
}
