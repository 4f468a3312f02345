import type { UnixNanos } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { Progress } from './transactions.ts'

const PLACES = 2 ** 20

/**
 * The ids of original traces by trace id. New trace ids are kept in memory until there are `batch` of them. They are then written to the
 * index in sorted order, some with each request, so that neighbours share a page. Only trace ids that are not in the index are read at
 * startup.
 */
export class TraceIndex extends OnConnection {
  readonly #progress: Progress
  readonly #batch: number
  /** Trace ids that are not in the index yet, as 16 latin1 characters. */
  readonly #recent = new Map<string, number>()
  /** Trace ids that are being written to the index, sorted. */
  #going: string[] = []
  #gone = 0
  #added = 0
  #last = 0
  #isRead = false
  readonly #indexed: TraceIdIndexTable
  readonly #add = this.db.prepare('INSERT INTO origin_traces (id, trace_id, first_ns) VALUES (?, ?, ?)')
  readonly #remove = this.column<[number, number], Buffer>(
    `DELETE FROM origin_traces WHERE id = ? AND NOT EXISTS (SELECT 1 FROM spans WHERE origin = ?)
       RETURNING trace_id`,
  )

  constructor(db: Sqlite, progress: Progress, sizes: TraceIndexSizes) {
    super(db)
    this.#progress = progress
    this.#batch = sizes.batch
    this.#indexed = new TraceIdIndexTable(db, sizes)
  }

  /**
   * The id of a trace, which is added if it is new; then `startNs` is the start of its first span. `traceKey`: the trace id as 16 latin1
   * characters.
   */
  numberOf(traceKey: string, startNs: UnixNanos): number {
    return this.find(traceKey) ?? this.#new(traceKey, startNs)
  }

  find(traceKey: string): number | undefined {
    this.#read()
    return this.#recent.get(traceKey) ?? this.#indexed.find(traceKey)
  }

  /** Removes a trace if none of its spans are left. */
  removeIfEmpty(origin: number): void {
    this.#read()
    const id = this.#remove.get(origin, origin)
    if (id === undefined) return
    this.#recent.delete(id.toString('latin1'))
    this.#indexed.remove(id)
  }

  /** Writes as many trace ids to the index as were added since, so that the number of unwritten ones does not grow. */
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

  /** Drops the caches after a rollback, or a write by another process; the next transaction reads again. */
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
    this.#going = isFull ? sortedByPrefix([...this.#recent.keys()]) : []
    this.#gone = 0
  }

  #new(traceKey: string, startNs: UnixNanos): number {
    const origin = ++this.#last
    this.#add.run(origin, Buffer.from(traceKey, 'latin1'), startNs)
    this.#recent.set(traceKey, origin)
    this.#added++
    return origin
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    const { indexedOrigins, indexingOrigins, indexingPrefix } = this.#progress
    const later = this.db.prepare<[number], { id: number; trace_id: Buffer }>(
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
    this.#going = sortedByPrefix(going)
  }
}

/** The first four bytes of a trace id as a number. */
function prefixOf(traceKey: string): number {
  const byte = (at: number): number => traceKey.charCodeAt(at) || 0
  return byte(0) * 2 ** 24 + byte(1) * 2 ** 16 + byte(2) * 2 ** 8 + byte(3)
}

/** Sorts trace ids by their first four bytes, which usually differ, as numbers: that is faster than sorting strings. */
export function sortedByPrefix(traceKeys: readonly string[]): string[] {
  const order = Float64Array.from(traceKeys, (key, at) => prefixOf(key) * PLACES + at).sort()
  return Array.from(order, (place) => traceKeys[place % PLACES] ?? '')
}

const ID_BYTES = 16

export interface TraceIndexSizes {
  /** How many new trace ids are written to the index as a batch. */
  batch: number
  /** How many trace ids of the index are read at startup, and how many with each request until all have been read. */
  readAtStart: number
  readAtOnce: number
  /** The least capacity of a new filter; it is twice the number of stored trace ids if that is more. */
  leastIds: number
}

/** Reading two million trace ids takes a second. */
export const TRACE_INDEX_SIZES: TraceIndexSizes = {
  batch: 65_536,
  readAtStart: 2_000_000,
  readAtOnce: 4_096,
  leastIds: 1_000_000,
}

/**
 * The index of trace ids. Most that are looked up are new, and each lookup would read a page of its own. A Bloom filter in memory
 * recognises most new ones, once it has read the stored ones.
 */
class TraceIdIndexTable extends OnConnection {
  /** The filter over all stored trace ids, if any, and the next one, which is filled up to `#readUpTo`. */
  #filter: TraceIdBloomFilter | undefined
  #next: TraceIdBloomFilter | undefined
  #readUpTo: Buffer = Buffer.alloc(0)
  #remakeAt = 0
  readonly #sizes: TraceIndexSizes
  readonly #count = this.column<[], number>('SELECT count(*) FROM origin_trace_index')
  readonly #chunk = this.column<[Buffer, number], string | null>(
    `SELECT group_concat(hex(trace_id), '')
       FROM (SELECT trace_id FROM origin_trace_index WHERE trace_id > ? ORDER BY trace_id LIMIT ?)`,
  )
  readonly #find = this.column<[Buffer], number>('SELECT origin FROM origin_trace_index WHERE trace_id = ?')
  readonly #add = this.db.prepare(
    'INSERT OR REPLACE INTO origin_trace_index (trace_id, origin) VALUES (?, ?)',
  )
  readonly #remove = this.db.prepare('DELETE FROM origin_trace_index WHERE trace_id = ?')

  constructor(db: Sqlite, sizes: TraceIndexSizes) {
    super(db)
    this.#sizes = sizes
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

  /** Adds some of the stored trace ids to the next filter. */
  readOn(): void {
    if (this.#isComplete) return
    if (this.#next === undefined) {
      this.#next = new TraceIdBloomFilter(this.#roomFor(this.#count.get() ?? 0))
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

  /** Drops the filters after a rollback, or a write by another process. */
  forget(): void {
    this.#filter = undefined
    this.#next = undefined
  }

  /** False if there is no filter, or it holds more than its capacity. */
  get #isComplete(): boolean {
    return this.#filter !== undefined && this.#filter.count <= this.#remakeAt
  }

  #roomFor(ids: number): number {
    return Math.max(this.#sizes.leastIds, 2 * ids)
  }
}

const BITS_PER_ID = 8
const BLOCK_BITS = 512
const BLOCK_WORDS = 16
const MAX_BLOCKS = 2 ** 19
const TRACE_ID_BYTES = 16

/**
 * A Bloom filter of 16-byte ids, in which the bits of an id are in one block. With `capacity` ids, two or three percent of other ids are
 * false positives; with more ids, more. Takes one byte per id, at most 32 MiB.
 */
export class TraceIdBloomFilter {
  readonly capacity: number
  count = 0
  readonly #words: Uint32Array
  readonly #mask: number
  readonly #id = Buffer.alloc(TRACE_ID_BYTES)
  #block = 0
  #bits = 0

  /** `expected`: the least capacity, unless that takes more than 32 MiB. */
  constructor(expected: number) {
    const wanted = (expected * BITS_PER_ID) / BLOCK_BITS
    const blocks = Math.min(MAX_BLOCKS, 2 ** Math.ceil(Math.log2(Math.max(1, wanted))))
    this.capacity = (blocks * BLOCK_BITS) / BITS_PER_ID
    this.#words = new Uint32Array(blocks * BLOCK_WORDS)
    this.#mask = blocks - 1
  }

  /** `key`: the id as latin1. */
  addKey(key: string): void {
    this.#id.write(key, 'latin1')
    this.add(this.#id, 0)
  }

  add(bytes: Buffer, at: number): void {
    this.#place(bytes, at)
    for (let left = 0; left < 3; left++) {
      const bit = (this.#bits >>> (9 * left)) & (BLOCK_BITS - 1)
      const word = this.#block + (bit >>> 5)
      this.#words[word] = (this.#words[word] ?? 0) | (1 << (bit & 31))
    }
    this.count++
  }

  mayHaveKey(key: string): boolean {
    this.#id.write(key, 'latin1')
    this.#place(this.#id, 0)
    for (let left = 0; left < 3; left++) {
      const bit = (this.#bits >>> (9 * left)) & (BLOCK_BITS - 1)
      if (((this.#words[this.#block + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }

  /** Mixes all bytes into the block and the bits, since ids need not be random. */
  #place(bytes: Buffer, at: number): void {
    let block = 0x9e3779b9
    let bits = 0x85ebca6b
    for (let from = at; from < at + TRACE_ID_BYTES; from += 4) {
      const word = bytes.readInt32LE(from)
      block = mixed(block ^ word)
      bits = mixed(bits + word)
    }
    this.#block = (block & this.#mask) * BLOCK_WORDS
    this.#bits = bits
  }
}

/** Mixes the bits of a 32-bit integer. */
export function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x7feb352d)
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b)
  return twice ^ (twice >>> 16)
}
