import { deserialize } from 'node:v8'
import { crc32 } from 'node:zlib'
import { readOwnSpan, SpanTexts } from '../../model/otlp/read-stored-span.ts'
import { MIB } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { mixed } from './trace-id-index.ts'

/** So many rows with neighbouring numbers are a block. */
export const ROWS_A_BLOCK = 4_096
/** How much of a block is read at once. */
const BYTES_A_STEP = MIB / 4
/** How many scopes and names of a block are remembered as they are. */
const MOST_SCOPES = 64
const MOST_NAMES = 64
/** How many texts of a block are told from others. */
const MOST_TEXTS = 500_000
/** To be changed with the meaning of what is kept of blocks: what was kept before is not believed then. */
export const FORMAT = 1

/** What the rows of a full block contain. They never change; retention may remove them. */
export interface BlockFacts {
  readonly firstNs: bigint
  readonly lastNs: bigint
  readonly shortestNs: bigint
  readonly longestNs: bigint
  /** A bit for each of OTLP's numbers. */
  readonly kinds: number
  readonly statuses: number
  /** Undefined if there are many. */
  readonly scopes: ReadonlySet<number> | undefined
  /** Undefined if there are many. */
  readonly names: readonly string[] | undefined
  /** Which texts they have: the bits of a Bloom filter. Undefined if there are many. */
  readonly texts: Uint8Array | undefined
  /** How many bytes the rows have. Undefined in what was kept before it was counted. */
  readonly bytes?: number | undefined
}

/** What some rows have in common: the numbers of scopes, kinds and statuses joined by commas, the names as a JSON array. */
interface RowsInCommon {
  readonly scopes: string | null
  readonly kinds: string | null
  readonly statuses: string | null
  readonly first: bigint | null
  readonly last: bigint | null
  readonly shortest: bigint | null
  readonly longest: bigint | null
  readonly names: string | null
  /** Their lengths, joined by commas, and their bytes one after another. */
  readonly lengths: string | null
  readonly bytes: Buffer | null
}

/** Rows one after another: three numbers of each joined by commas (its own, its scope, its length), and the bytes. */
interface JoinedRows {
  readonly heads: string | null
  readonly bytes: Buffer | null
}

interface BlockSql {
  /** Where facts are kept. */
  readonly table: string
  /** The highest number of a row, and the next one after a number. */
  readonly newest: string
  readonly next: string
  /** How many bytes the rows after a number up to another have. */
  readonly bytes: string
  /** `RowsInCommon` of such rows. Bytes are joined as text, which SQLite accepts unchanged. */
  readonly rows: string
  /** `JoinedRows` of such rows. */
  readonly joined: string
  /** Whether the columns say nothing but the scope: the rest is read from the bytes. */
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

/** SQL functions on the bytes of Causeway's own spans. */
export const OWN_KIND = 'own_span_kind'
export const OWN_DURATION = 'own_span_duration'

/** Defines the functions that hints on Causeway's own spans need. */
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

/** The blocks of one kind in the database: their rows, and what is kept of them. */
export class StoredBlocks extends OnConnection {
  readonly sql: BlockSql
  readonly rowsABlock: number
  readonly #newest: () => number
  readonly #bytesIn: (after: number, upTo: number) => number
  readonly #rows: (after: number, upTo: number) => RowsInCommon | undefined
  readonly #joined: (after: number, upTo: number) => JoinedRows | undefined
  readonly #kept: (after: number, upTo: number) => KeptRow | undefined

  /** Of received spans by their numbers, or of Causeway's own by the decisions that sent them. */
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

  /** The numbers of its rows: after the first, up to the second. */
  boundsOf(block: number): [after: number, upTo: number] {
    return [block * this.rowsABlock, (block + 1) * this.rowsABlock]
  }

  kept(block: number): BlockFacts | undefined {
    return keptFacts(this.#kept(...this.boundsOf(block))) as BlockFacts | undefined
  }

  /** What the rows of a full block contain. Yields where others may take a turn. */
  *read(block: number): Generator<undefined, BlockFacts> {
    const found = new FactsFound()
    for (const [after, upTo] of this.#stepsOf(block)) {
      const rows = this.#rows(after, upTo)
      if (rows !== undefined) found.add(rows, this.sql.isOwn)
      yield
    }
    return found.facts
  }

  /** The rows of a full block, so many at once that others may take a turn before the next. Counts their bytes if these are not given. */
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

/** Visits rows one after another: the number of each, its scope, and where its bytes are. */
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
    // A comma, or the end.
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

/** Undefined if nothing is kept, or what is kept is damaged or of a newer Node. */
export function keptFacts(row: KeptRow | undefined): unknown {
  if (row === undefined || row.checksum !== crc32(row.facts, FORMAT)) return undefined
  try {
    return deserialize(row.facts)
  } catch {
    return undefined
  }
}

/** Gathers what rows contain. */
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

/** Numbers that OTLP does not have share the last bit. */
export function bitOf(number: number): number {
  return 1 << (number >= 0 && number < 31 ? number : 31)
}

/** FNV-1a, 32 bits. */
export function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  return hash >>> 0
}

/** Distinct hashes. Those of keys and names come again and again: the last at each place is looked at first. */
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
    // One that is 0 looks like a place where nothing was.
    return this.#set.add(0)
  }
}

const BITS_A_TEXT = 12
const PROBES = 6

/** A Bloom filter of hashes, wrong for one text in three hundred. */
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

/** Whether the rows of a block may have a text with this hash. */
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
