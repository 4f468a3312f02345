import type { OutboxItem } from '../../../model/ports/outbox-port.ts'
import type { Pages } from '../../../model/ports/query-port.ts'
import { readOwnSpan } from '../../../otlp/read/read-own-span.ts'
import type { Sqlite } from '../../open-database.ts'
import { SqliteOutbox } from '../../sending/outbox-reader.ts'

const PAGE = 500

/** Reads what was sent into traces, as exporters read it. */
export class SentItems {
  readonly #outbox: SqliteOutbox

  constructor(db: Sqlite) {
    this.#outbox = new SqliteOutbox(db)
  }

  /** Everything, in the order in which it was sent. */
  *into(trace: number): Pages<OutboxItem> & Generator<OutboxItem[]> {
    const decisions = Float64Array.from(this.#outbox.decisionsOf(trace))
    for (let at = 0; at < decisions.length; at += PAGE) {
      yield this.#outbox.items([...decisions.subarray(at, at + PAGE)])
    }
  }

  /** Spans with this id. */
  withId(trace: number, spanId: bigint): OutboxItem[] {
    const { received, own } = this.#outbox.decisionsOfSpan(trace, spanId)
    if (received.length > 0) return this.#outbox.items(received)
    for (let at = 0; at < own.length; at += PAGE) {
      const found = this.#outbox
        .items(own.slice(at, at + PAGE))
        .filter(({ raw }) => raw !== undefined && readOwnSpan(raw).spanId === spanId)
      if (found.length > 0) return found
    }
    return []
  }
}
