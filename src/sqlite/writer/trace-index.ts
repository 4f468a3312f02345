import type { Statement } from 'better-sqlite3'
import { IndexedTraces, type TraceIndexSizes } from './indexed-traces.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'

const PLACES = 2 ** 20

/**
 * The numbers of original traces by their ids. New ones are kept in memory until there are `batch` of them, which then go into
 * the index in the order of their ids, some with each request, so that neighbours share the page that is written. Only
 * what is put off is read when Causeway starts.
 */
export class TraceIndex {
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #batch: number
  /** Those that are not in the index, by their ids' 16 bytes as latin1. */
  readonly #recent = new Map<string, number>()
  /** Those that are going into the index, in the order of their ids. */
  #going: string[] = []
  #gone = 0
  #added = 0
  #last = 0
  #isRead = false
  readonly #indexed: IndexedTraces
  readonly #add: Statement
  readonly #remove: Statement<[number, number], Buffer>

  constructor(db: Sqlite, progress: Progress, sizes: TraceIndexSizes) {
    this.#db = db
    this.#progress = progress
    this.#batch = sizes.batch
    this.#indexed = new IndexedTraces(db, sizes)
    this.#add = db.prepare('INSERT INTO origin_traces (id, trace_id) VALUES (?, ?)')
    this.#remove = db
      .prepare<[number, number], Buffer>(
        `DELETE FROM origin_traces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM spans WHERE origin = ?)
         RETURNING trace_id`,
      )
      .pluck()
  }

  /** The number of the trace with this id, given now if it has none; `traceKey` is the id's 16 bytes as latin1. */
  numberOf(traceKey: string): number {
    return this.find(traceKey) ?? this.#new(traceKey)
  }

  find(traceKey: string): number | undefined {
    this.#read()
    return this.#recent.get(traceKey) ?? this.#indexed.find(traceKey)
  }

  /** Removes a trace if no span of it is left. */
  removeIfEmpty(origin: number): void {
    this.#read()
    const id = this.#remove.get(origin, origin)
    if (id === undefined) return
    this.#recent.delete(id.toString('latin1'))
    this.#indexed.remove(id)
  }

  /** Puts as many into the index as were added since, so that what is left out stays as large as it is. */
  settle(): void {
    this.#indexed.readOn()
    if (this.#added === 0) return
    const upTo = this.#gone + this.#added
    this.#added = 0
    for (const traceKey of this.#going.slice(this.#gone, upTo)) {
      const origin = this.#recent.get(traceKey)
      if (origin === undefined) continue
      this.#indexed.add(traceKey, origin)
      this.#recent.delete(traceKey)
    }
    this.#gone = upTo
    if (this.#gone >= this.#going.length) this.#nextBatch()
    this.#progress.indexingPrefix = prefixOf(this.#going[this.#gone] ?? '')
  }

  /** After a rollback, or when someone else wrote: the next transaction reads again. */
  forget(): void {
    this.#recent.clear()
    this.#going = []
    this.#gone = 0
    this.#added = 0
    this.#isRead = false
    this.#indexed.forget()
  }

  #nextBatch(): void {
    const { indexedOrigins, indexingOrigins } = this.#progress
    this.#progress.indexedOrigins = Math.max(indexedOrigins, indexingOrigins)
    const isFull = this.#recent.size >= this.#batch
    this.#progress.indexingOrigins = isFull ? this.#last : 0
    this.#going = isFull ? inOrder([...this.#recent.keys()]) : []
    this.#gone = 0
  }

  #new(traceKey: string): number {
    const origin = ++this.#last
    this.#add.run(origin, Buffer.from(traceKey, 'latin1'))
    this.#recent.set(traceKey, origin)
    this.#added++
    return origin
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    const { indexedOrigins, indexingOrigins, indexingPrefix } = this.#progress
    const later = this.#db.prepare<[number], { id: number; trace_id: Buffer }>(
      'SELECT id, trace_id FROM origin_traces WHERE id > ? ORDER BY id',
    )
    this.#last = Math.max(indexedOrigins, indexingOrigins)
    const going: string[] = []
    for (const { id, trace_id } of later.iterate(indexedOrigins)) {
      const traceKey = trace_id.toString('latin1')
      this.#last = Math.max(this.#last, id)
      if (id <= indexingOrigins) {
        if (prefixOf(traceKey) < indexingPrefix) continue
        going.push(traceKey)
      }
      this.#recent.set(traceKey, id)
    }
    this.#going = inOrder(going)
  }
}

/** The first four bytes of an id that is latin1. */
function prefixOf(traceKey: string): number {
  const byte = (at: number): number => traceKey.charCodeAt(at) || 0
  return byte(0) * 2 ** 24 + byte(1) * 2 ** 16 + byte(2) * 2 ** 8 + byte(3)
}

/** Ids as latin1 in the order of their first four bytes, which is where neighbours part: numbers sort faster than text. */
export function inOrder(traceKeys: readonly string[]): string[] {
  const order = Float64Array.from(traceKeys, (key, at) => prefixOf(key) * PLACES + at).sort()
  return Array.from(order, (place) => traceKeys[place % PLACES] ?? '')
}
