import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../model/cpid.ts'
import type { LogOutboxItem, LogOutboxReader } from '../../model/ports/log-port.ts'
import type { ScopeEnvelopes } from '../../model/ports/outbox-port.ts'
import { LOG_WITHOUT_SPAN_ID } from '../linking/log-link-store.ts'
import type { Sqlite } from '../open-database.ts'
import type { SqliteOutbox } from './outbox-reader.ts'

interface ItemRow {
  decision: number
  trace_id: Buffer | null
  flags: number
  raw: Buffer | null
  scope: number | null
  uuid: Buffer | null
}

/** Reads what was decided about log records, through the connection of the outbox reader. */
export class SqliteLogOutbox implements LogOutboxReader {
  readonly #outbox: Pick<SqliteOutbox, 'envelopes' | 'inOneMoment' | 'upToBytes'>
  readonly #after: Statement<[number, number], ItemRow>

  constructor(db: Sqlite, outbox: Pick<SqliteOutbox, 'envelopes' | 'inOneMoment' | 'upToBytes'>) {
    this.#outbox = outbox
    this.#after = db.prepare(
      `SELECT log_outbox.decision, log_outbox.trace_id, log_outbox.flags, logs.raw, logs.scope, cpids.uuid
       FROM log_outbox LEFT JOIN logs ON logs.id = log_outbox.log
       LEFT JOIN cpids ON cpids.id = log_outbox.cpid
       WHERE log_outbox.decision > ? ORDER BY log_outbox.decision LIMIT ?`,
    )
  }

  after(position: number, limit: number): LogOutboxItem[] {
    return this.#outbox.inOneMoment(() =>
      this.#outbox.upToBytes(this.#after.iterate(position, limit), itemOf),
    )
  }

  envelopes(scope: number): ScopeEnvelopes | undefined {
    return this.#outbox.envelopes(scope)
  }
}

function itemOf({ decision, trace_id, flags, raw, scope, uuid }: ItemRow): LogOutboxItem {
  return {
    decision,
    raw: raw ?? undefined,
    scope: scope ?? 0,
    traceId: trace_id ?? undefined,
    withoutSpanId: (flags & LOG_WITHOUT_SPAN_ID) !== 0,
    inherited: uuid === null ? undefined : cpidOfBytes(uuid),
  }
}
