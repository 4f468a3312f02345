import { deserialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { readOwnSpan, SpanTexts } from '../../model/otlp/read-stored-span.ts'
import { MIB } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { mixed } from './trace-id-index.ts'

/** A block is this many rows with consecutive ids. */
export const ROWS_A_BLOCK = 4_096
/** How many bytes of a block are read at a time. */
const BYTES_A_STEP = MIB / 4
/** The most scopes and names of a block that its summary lists. */
const MOST_SCOPES = 64
const MOST_NAMES = 64
/** The most distinct strings of a block that its filter covers. */
const MOST_TEXTS = 500_000
/** Change it when the meaning of summaries changes: those of another format are ignored. */
export const FORMAT = 1

/** The summary of the rows of a full block. Rows never change; retention may remove them. */
export interface BlockFacts {
  readonly firstNs: bigint
  readonly lastNs: bigint
  readonly shortestNs: bigint
  readonly longestNs: bigint
  /** Bit sets over OTLP's numbers. */
  readonly kinds: number
  readonly statuses: number
  /** The scopes of the rows; undefined if there are many. */
  readonly scopes: ReadonlySet<number> | undefined
  /** The names of the rows; undefined if there are many. */
  readonly names: readonly string[] | undefined
  /** A Bloom filter of the strings in the rows; undefined if there are many. */
  readonly texts: Uint8Array | undefined
  /** The bytes of the rows; undefined in summaries from before it was counted. */
  readonly bytes?: number | undefined
}

/** Aggregates of rows: ids of scopes, kinds and statuses are joined by commas; names are a JSON array. */
interface RowsInCommon {
  readonly scopes: string | null
  readonly kinds: string | null
  readonly statuses: string | null
  readonly first: bigint | null
  readonly last: bigint | null
  readonly shortest: bigint | null
  readonly longest: bigint | null
  readonly names: string | null
  /** The lengths of rows, joined by commas, and their concatenated bytes. */
  readonly lengths: string | null
  readonly bytes: Buffer | null
}

/** Concatenated rows: three numbers for each, joined by commas (row, scope, length), and the bytes. */
interface JoinedRows {
  readonly heads: string | null
  readonly bytes: Buffer | null
}

interface BlockSql {
  /** The table of summaries. */
  readonly table: string
  /** Queries for the highest row, and for the next one after a row. */
  readonly newest: string
  readonly next: string
  /** The query for the bytes of a range of rows. */
  readonly bytes: string
  /** The query for `RowsInCommon` of a range of rows. Bytes are concatenated as text, which SQLite leaves unchanged. */
  readonly rows: string
  /** The query for `JoinedRows` of a range of rows. */
  readonly joined: string
  /** Whether only the scope has a column, so that everything else is read from the bytes. */
  readonly isOwn: boolean
}

const RECEIVED: BlockSql = {
  table: 'span_blocks',
  newest: 'SELECT max(id) FROM spans',
  next: 'SELECT min(id) FROM spans WHERE id > ?',
  bytes: 'SELECT sum(length(raw)) FROM spans WHERE id > ? AND id <= ?',
  rows: `SELECT group_concat(DISTINCT scope) AS scopes, group_concat(DISTINCT kind) AS kinds,
    group_concat(DISTINCT status) AS statuses, min(start_ns) AS first, max(end_ns) AS last,
    min(end_ns - start_ns) AS shortest, max(end_ns - start_ns) AS longest,
    json_group_array(DISTINCT name) AS names,
    group_concat(length(raw), ',') AS lengths, CAST(group_concat(CAST(raw AS TEXT), '') AS BLOB) AS bytes
    FROM spans WHERE id > ? AND id <= ?`,
  joined: `SELECT group_concat(id || ',' || scope || ',' || length(raw)) AS heads,
    CAST(group_concat(CAST(raw AS TEXT), '') AS BLOB) AS bytes FROM spans WHERE id > ? AND id <= ?`,
  isOwn: false,
}

const OWN: BlockSql = {
  table: 'own_span_blocks',
  newest: 'SELECT max(decision) FROM outbox',
  next: 'SELECT min(decision) FROM outbox WHERE decision > ?',
  bytes: 'SELECT sum(length(extra)) FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL',
  rows: `SELECT group_concat(DISTINCT coalesce(scope, 0)) AS scopes, NULL AS kinds, NULL AS statuses, NULL AS first, NULL AS last, NULL AS shortest,
    NULL AS longest, NULL AS names,
    group_concat(length(extra), ',') AS lengths, CAST(group_concat(CAST(extra AS TEXT), '') AS BLOB) AS bytes
    FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL`,
  joined: `SELECT group_concat(decision || ',' || coalesce(scope, 0) || ',' || length(extra)) AS heads,
    CAST(group_concat(CAST(extra AS TEXT), '') AS BLOB) AS bytes
    FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL`,
  isOwn: true,
}

const SQL = { received: RECEIVED, own: OWN }

/** SQL functions that read the bytes of Causeway's own spans. */
export const OWN_KIND = 'own_span_kind'
export const OWN_DURATION = 'own_span_duration'

/** Registers the SQL functions for hints on Causeway's own spans. */
export function addOwnSpanFunctions(db: Sqlite): void {
  const define = (name: string, read: (bytes: Buffer) => number | bigint): void => {
    db.function(name, { deterministic: true }, (bytes: unknown) =>
      Buffer.isBuffer(bytes) ? read(bytes) : null,
    )
  }
  define(OWN_KIND, (bytes) => readOwnSpan(bytes).kind)
  define(OWN_DURATION, (bytes) => {
    const { startNs, endNs } = readOwnSpan(bytes)
    return endNs - startNs
  })
}

/** The blocks of one kind: their rows, and their stored summaries. */
export class StoredBlocks extends OnConnection {
  readonly sql: BlockSql
  readonly rowsABlock: number
  readonly #newest: () => number
  readonly #bytesIn: (after: number, upTo: number) => number
  readonly #rows: (after: number, upTo: number) => RowsInCommon | undefined
  readonly #joined: (after: number, upTo: number) => JoinedRows | undefined
  readonly #kept: (after: number, upTo: number) => KeptRow | undefined

  /** `kind`: received spans by row, or Causeway's own spans by decision. */
  constructor(db: Sqlite, kind: keyof typeof SQL, rowsABlock: number) {
    super(db)
    const sql = SQL[kind]
    this.sql = sql
    this.rowsABlock = rowsABlock
    const newest = db.prepare<[], number | null>(sql.newest).pluck()
    const bytes = db.prepare<[number, number], number | null>(sql.bytes).pluck()
    const rows = db.prepare<[number, number], RowsInCommon>(sql.rows).safeIntegers()
    const joined = db.prepare<[number, number], JoinedRows>(sql.joined)
    const kept = db.prepare<[number, number], KeptRow>(
      `SELECT facts, checksum FROM ${sql.table} WHERE after = ? AND up_to = ?`,
    )
    this.#newest = () => newest.get() ?? 0
    this.#bytesIn = (after, upTo) => bytes.get(after, upTo) ?? 0
    this.#rows = (after, upTo) => rows.get(after, upTo)
    this.#joined = (after, upTo) => joined.get(after, upTo)
    this.#kept = (after, upTo) => kept.get(after, upTo)
  }

  get newest(): number {
    return this.#newest()
  }

  blockOf(row: number): number {
    return Math.ceil(row / this.rowsABlock) - 1
  }

  /** The rows of a block: above the first number, up to the second. */
  boundsOf(block: number): [after: number, upTo: number] {
    return [block * this.rowsABlock, (block + 1) * this.rowsABlock]
  }

  kept(block: number): BlockFacts | undefined {
    return keptFacts(this.#kept(...this.boundsOf(block))) as BlockFacts | undefined
  }

  /** Computes the summary of a full block. Yields when others may take a turn. */
  *read(block: number): Generator<undefined, BlockFacts> {
    const found = new FactsFound()
    for (const [after, upTo] of this.#stepsOf(block)) {
      const rows = this.#rows(after, upTo)
      if (rows !== undefined) found.add(rows, this.sql.isOwn)
      yield
    }
    return found.facts
  }

  /** The rows of a full block, in parts between which others may take a turn. Queries their size unless `bytes` is given. */
  *joined(block: number, bytes?: number): Generator<JoinedRows> {
    for (const [after, upTo] of this.#stepsOf(block, bytes)) yield this.#joined(after, upTo) ?? NO_ROWS
  }

  *#stepsOf(block: number, known?: number): Generator<[after: number, upTo: number]> {
    const [after, upTo] = this.boundsOf(block)
    const bytes = known ?? this.#bytesIn(after, upTo)
    const rowsAStep = Math.max(1, Math.ceil((this.rowsABlock * BYTES_A_STEP) / Math.max(bytes, BYTES_A_STEP)))
    for (let at = after; at < upTo; at += rowsAStep) yield [at, Math.min(at + rowsAStep, upTo)]
  }
}

const NO_ROWS: JoinedRows = { heads: null, bytes: null }

/** Visits rows one by one, with the scope and the byte range of each. */
export function eachRow(
  { heads }: JoinedRows,
  visit: (row: number, scope: number, start: number, end: number) => void,
): void {
  if (heads === null) return
  let at = 0
  let [row, scope, number, place] = [0, 0, 0, 0]
  for (let index = 0; index <= heads.length; index++) {
    const digit = heads.charCodeAt(index) - ZERO
    if (digit >= 0) {
      number = number * 10 + digit
      continue
    }
    // A comma, or the end: the number is complete.
    if (place === 0) row = number
    else if (place === 1) scope = number
    else visit(row, scope, at, (at += number))
    place = (place + 1) % 3
    number = 0
  }
}

const ZERO = 0x30

export interface KeptRow {
  facts: Buffer
  checksum: number
}

/** Reads a stored summary; undefined if there is none, or it is damaged, or was serialized by a newer Node. */
export function keptFacts(row: KeptRow | undefined): unknown {
  if (row === undefined || row.checksum !== crc32(row.facts, FORMAT)) return undefined
  try {
    return deserialize(row.facts)
  } catch {
    return undefined
  }
}

/** Collects the summary of rows. */
class FactsFound {
  #firstNs = MAX
  #lastNs = MIN
  #shortestNs = MAX
  #longestNs = MIN
  #kinds = 0
  #statuses = 0
  readonly #scopes = new Set<number>()
  readonly #names = new Set<string>()
  readonly #hashes = new Hashes()
  #bytes = 0

  add(
    { scopes, kinds, statuses, first, last, shortest, longest, names, lengths, bytes }: RowsInCommon,
    isOwn: boolean,
  ): void {
    if (lengths === null || bytes === null) return
    this.#bytes += bytes.length
    for (const scope of numbersIn(scopes)) this.#scopes.add(scope)
    for (const kind of numbersIn(kinds)) this.#kinds |= bitOf(kind)
    for (const status of numbersIn(statuses)) this.#statuses |= bitOf(status)
    if (first !== null && last !== null) this.#lies(first, last)
    if (shortest !== null) this.#lasts(shortest)
    if (longest !== null) this.#lasts(longest)
    for (const name of JSON.parse(names ?? '[]') as string[]) this.#addName(name)
    const texts = new SpanTexts(bytes, (start, end) => this.#hashes.add(hashOf(bytes, start, end)))
    let at = 0
    for (const length of numbersIn(lengths)) {
      if (isOwn) this.#addOwn(bytes.subarray(at, at + length))
      texts.ofSpan(at, (at += length))
    }
  }

  #addOwn(bytes: Buffer): void {
    const { kind, startNs, endNs, name } = readOwnSpan(bytes)
    this.#kinds |= bitOf(kind)
    this.#statuses |= bitOf(0)
    this.#lies(startNs, endNs)
    this.#lasts(endNs - startNs)
    this.#addName(name)
  }

  #lies(startNs: bigint, endNs: bigint): void {
    if (startNs < this.#firstNs) this.#firstNs = startNs
    if (endNs > this.#lastNs) this.#lastNs = endNs
  }

  #lasts(ns: bigint): void {
    if (ns < this.#shortestNs) this.#shortestNs = ns
    if (ns > this.#longestNs) this.#longestNs = ns
  }

  #addName(name: string): void {
    if (this.#names.size <= MOST_NAMES) this.#names.add(name)
  }

  get facts(): BlockFacts {
    return {
      firstNs: this.#firstNs,
      lastNs: this.#lastNs,
      shortestNs: this.#shortestNs,
      longestNs: this.#longestNs,
      kinds: this.#kinds,
      statuses: this.#statuses,
      scopes: this.#scopes.size > MOST_SCOPES ? undefined : this.#scopes,
      names: this.#names.size > MOST_NAMES ? undefined : [...this.#names],
      texts: this.#hashes.all.size > MOST_TEXTS ? undefined : bitsOf(this.#hashes.all),
      bytes: this.#bytes,
    }
  }
}

const numbersIn = (list: string | null): number[] => (list === null ? [] : list.split(',').map(Number))

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** A bit for a number of OTLP; unknown numbers share the last bit. */
export function bitOf(number: number): number {
  return 1 << (number >= 0 && number < 31 ? number : 31)
}

/** FNV-1a, 32 bits. */
export function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return hash >>> 0
}

/** A set of hashes. Keys and names repeat often, so the latest hash in each slot is checked first. */
class Hashes {
  readonly #set = new Set<number>()
  readonly #last = new Uint32Array(4_096)

  add(hash: number): void {
    const place = hash & 4_095
    if (this.#last[place] === hash) return
    this.#last[place] = hash
    if (this.#set.size <= MOST_TEXTS) this.#set.add(hash)
  }

  get all(): ReadonlySet<number> {
    // The hash 0 is like an empty slot, so it is always added.
    return this.#set.add(0)
  }
}

const BITS_A_TEXT = 12
const PROBES = 6

/** Makes a Bloom filter of hashes, with false positives for one string in three hundred. */
function bitsOf(hashes: ReadonlySet<number>): Uint8Array {
  const bits = new Uint8Array(Math.ceil((hashes.size * BITS_A_TEXT) / 8))
  for (const hash of hashes) {
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = placeOf(bits, hash, probe)
      bits[bit >>> 3] = (bits[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }
  return bits
}

/** Whether the rows of a block may contain a string with this hash. */
export function mayHave(bits: Uint8Array | undefined, hash: number): boolean {
  if (bits === undefined) return true
  for (let probe = 0; probe < PROBES; probe++) {
    const bit = placeOf(bits, hash, probe)
    if (((bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false
  }
  return true
}

function placeOf(bits: Uint8Array, hash: number, probe: number): number {
  return (mixed(hash + Math.imul(probe, 0x9e3779b9)) >>> 0) % (bits.length * 8)
}
