import type { Position, StoredRecord } from '../../../model/ports/query-port.ts'
import { MIB } from '../../../model/sizes.ts'
import type { BytesRead } from '../bytes-read.ts'

const MAX_RECORDS = 150
const MAX_BYTES = MIB

/** Gathers a page of stored records until it holds enough of them. */
export class RecordPage {
  #records: StoredRecord[] = []
  #bytes = 0
  readonly #read: BytesRead

  constructor(read: BytesRead) {
    this.#read = read
  }

  /** Adds records until the page is full; true when it took all there are. */
  fill<Row extends { scope: number | bigint; raw: Buffer }>(
    rows: Iterable<Row>,
    positionOf: (row: Row) => Position,
  ): boolean {
    for (const row of rows) {
      this.#records.push({ position: positionOf(row), scope: Number(row.scope), raw: row.raw })
      this.#bytes += row.raw.length
      this.#read.add(row.raw.length)
      if (this.isFull) return false
    }
    return true
  }

  get isFull(): boolean {
    return this.#records.length >= MAX_RECORDS || this.#bytes >= MAX_BYTES
  }

  /** Hands the records over and begins anew. */
  take(): StoredRecord[] {
    const records = this.#records
    this.#records = []
    this.#bytes = 0
    return records
  }
}
