import type { OutboxItem } from '../../../model/ports/outbox-port.ts'
import type { Pages } from '../../../model/ports/query-port.ts'
import { MIB } from '../../../model/sizes.ts'
import { readOwnSpan } from '../../../otlp/read/read-own-span.ts'
import type { Sqlite } from '../../open-database.ts'
import { SqliteOutbox } from '../../sending/outbox-reader.ts'
import type { BytesRead } from '../bytes-read.ts'

/** A page has so many items, or fewer of so many bytes, or one that is larger. */
const PAGE = 500
const PAGE_BYTES = MIB

/** Reads what was sent into traces, as exporters read it. */
export class SentItems {
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#outbox = new SqliteOutbox(db)
    this.#read = read
  }

  /** Everything, in the order in which it was sent. */
  *into(trace: number): Pages<OutboxItem> & Generator<OutboxItem[]> {
    yield* this.of(Float64Array.from(this.#outbox.decisionsOf(trace)))
  }

  /** What these decisions sent, in their order. */
  *of(decisions: Iterable<number>): Pages<OutboxItem> & Generator<OutboxItem[]> {
    let items: OutboxItem[] = []
    let bytes = 0
    for (const decision of decisions) {
      const item = this.#outbox.item(decision)
      if (item === undefined) continue
      items.push(item)
      const length = (item.raw?.length ?? 0) + (item.extra?.length ?? 0)
      bytes += length
      this.#read.add(length)
      if (items.length < PAGE && bytes < PAGE_BYTES) continue
      yield items
      ;[items, bytes] = [[], 0]
    }
    yield items
  }

  /** Spans with this id. */
  withId(trace: number, spanId: bigint): OutboxItem[] {
    const { received, own } = this.#outbox.decisionsOfSpan(trace, spanId)
    if (received.length > 0) return received.flatMap((decision) => this.#outbox.item(decision) ?? [])
    for (const page of this.of(own)) {
      const found = page.filter(({ raw }) => raw !== undefined && readOwnSpan(raw).spanId === spanId)
      if (found.length > 0) return found
    }
    return []
  }
}
