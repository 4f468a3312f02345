import type { Statement } from 'better-sqlite3'
import { IdFilter } from './id-filter.ts'
import type { Sqlite } from '../open-database.ts'

const ID_BYTES = 16

export interface TraceIndexSizes {
  /** How many new ids are put into the index at a time. */
  batch: number
  /** How many ids of the index are read when it is opened, and how many with each request until all are. */
  readAtStart: number
  readAtOnce: number
  /** How many ids there is room for before the filter is made anew; twice as many as are stored, if that is more. */
  leastIds: number
}

/** Two million ids take a second. */
export const TRACE_INDEX_SIZES: TraceIndexSizes = {
  batch: 65_536,
  readAtStart: 2_000_000,
  readAtOnce: 4_096,
  leastIds: 1_000_000,
}

/**
 * The index of trace ids. Most ids that are asked for are new, and each would cost reading a page of its own: a filter in memory
 * knows most of them, once it has read the ids that are stored.
 */
export class IndexedTraces {
  /** Knows all that are stored, when there is one; the next one is being read, up to `#readUpTo`. */
  #filter: IdFilter | undefined
  #next: IdFilter | undefined
  #readUpTo: Buffer = Buffer.alloc(0)
  #remakeAt = 0
  readonly #sizes: TraceIndexSizes
  readonly #count: Statement<[], number>
  readonly #chunk: Statement<[Buffer, number], string | null>
  readonly #find: Statement<[Buffer], number>
  readonly #add: Statement
  readonly #remove: Statement

  constructor(db: Sqlite, sizes: TraceIndexSizes) {
    this.#sizes = sizes
    this.#count = db.prepare<[], number>('SELECT count(*) FROM origin_trace_index').pluck()
    this.#chunk = db
      .prepare<[Buffer, number], string | null>(
        `SELECT group_concat(hex(trace_id), '')
         FROM (SELECT trace_id FROM origin_trace_index WHERE trace_id > ? ORDER BY trace_id LIMIT ?)`,
      )
      .pluck()
    this.#find = db
      .prepare<[Buffer], number>('SELECT origin FROM origin_trace_index WHERE trace_id = ?')
      .pluck()
    this.#add = db.prepare('INSERT OR REPLACE INTO origin_trace_index (trace_id, origin) VALUES (?, ?)')
    this.#remove = db.prepare('DELETE FROM origin_trace_index WHERE trace_id = ?')
    for (let left = sizes.readAtStart; left > 0 && !this.#isComplete; left -= this.#sizes.readAtOnce)
      this.readOn()
  }

  find(traceKey: string): number | undefined {
    if (this.#filter?.mayHaveKey(traceKey) === false) return undefined
    return this.#find.get(Buffer.from(traceKey, 'latin1'))
  }

  add(traceKey: string, origin: number): void {
    this.#add.run(Buffer.from(traceKey, 'latin1'), origin)
    this.#filter?.addKey(traceKey)
    this.#next?.addKey(traceKey)
  }

  remove(traceId: Buffer): void {
    this.#remove.run(traceId)
  }

  /** Reads some of the ids that the filter does not know yet. */
  readOn(): void {
    if (this.#isComplete) return
    if (this.#next === undefined) {
      this.#next = new IdFilter(this.#roomFor(this.#count.get() ?? 0))
      this.#readUpTo = Buffer.alloc(0)
    }
    const ids = Buffer.from(this.#chunk.get(this.#readUpTo, this.#sizes.readAtOnce) ?? '', 'hex')
    for (let at = 0; at < ids.length; at += ID_BYTES) this.#next.add(ids, at)
    this.#readUpTo = ids.subarray(-ID_BYTES)
    if (ids.length === this.#sizes.readAtOnce * ID_BYTES) return
    this.#filter = this.#next
    this.#remakeAt = this.#roomFor(this.#filter.count)
    this.#next = undefined
  }

  /** After a rollback, or when someone else wrote. */
  forget(): void {
    this.#filter = undefined
    this.#next = undefined
  }

  /** False when there is no filter, or so much was added to it that another is wanted. */
  get #isComplete(): boolean {
    return this.#filter !== undefined && this.#filter.count <= this.#remakeAt
  }

  #roomFor(ids: number): number {
    return Math.max(this.#sizes.leastIds, 2 * ids)
  }
}
