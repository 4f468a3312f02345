import type { SetAsideFacts } from '../../model/ports/setup-port.ts'
import type { Sqlite } from '../open-database.ts'

/** Reads what could not be worked on; undefined when nothing was set aside. */
export function readSetAside(db: Sqlite): SetAsideFacts | undefined {
  return db
    .prepare<[], SetAsideFacts>(
      `SELECT (SELECT count(*) FROM set_aside) AS items, time, reason FROM audit_set_aside ORDER BY time DESC LIMIT 1`,
    )
    .get()
}
