import { readOwnSpan, SpanTexts } from '../../model/otlp/read-stored-span.ts'
import type { SpanHint } from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { mixed } from './trace-id-index.ts'

/** So many rows with neighbouring numbers are a block. */
export const ROWS_A_BLOCK = 4_096
/** What is remembered of all blocks of one kind, at most. */
const MOST_BYTES = 24 * MIB
/** A block with more is not remembered: it is read each time. */
const MOST_BYTES_OF_ROWS = 32 * MIB
/** What a block weighs besides its filter and its names, and a name besides its characters. */
const BYTES_BESIDE = 1_024
const BYTES_BESIDE_NAME = 32
/** How many scopes and names of a block are remembered as they are. */
const MOST_SCOPES = 64
const MOST_NAMES = 64

/** What the rows of a full block contain. They never change; retention may remove them. */
interface BlockFacts {
  readonly shortestNs: bigint
  readonly longestNs: bigint
  /** A bit for each of OTLP's numbers. */
  readonly kinds: number
  readonly statuses: number
  /** Undefined if there are many. */
  readonly scopes: ReadonlySet<number> | undefined
  /** Undefined if there are many. */
  readonly names: readonly string[] | undefined
  readonly texts: TextFilter
}

/** Whether some row of a block may meet a hint. */
export type BlockTest = (facts: BlockFacts) => boolean

/** One group of rows that agree in these columns. */
interface GroupRow {
  scope: bigint | null
  kind: bigint
  status: bigint
  shortest: bigint
  longest: bigint
}

interface BlockSql {
  /** The highest number of a row. */
  readonly newest: string
  /** How many bytes the rows after a number up to another have. */
  readonly bytes: string
  /** `GroupRow` of such rows. */
  readonly groups: string
  /** Their names, each once, as many as are asked for. */
  readonly names: string
  /** Their lengths, joined by commas, and their bytes one after another. Bytes are joined as text, which SQLite accepts unchanged. */
  readonly rows: string
}

const RECEIVED: BlockSql = {
  newest: 'SELECT max(id) FROM spans',
  bytes: 'SELECT sum(length(raw)) FROM spans WHERE id > ? AND id <= ?',
  groups: `SELECT scope, kind, status, min(end_ns - start_ns) AS shortest, max(end_ns - start_ns) AS longest
    FROM spans WHERE id > ? AND id <= ? GROUP BY scope, kind, status`,
  names: 'SELECT DISTINCT name FROM spans WHERE id > ? AND id <= ? LIMIT ?',
  rows: `SELECT group_concat(length(raw), ','), CAST(group_concat(CAST(raw AS TEXT), '') AS BLOB)
    FROM spans WHERE id > ? AND id <= ?`,
}

/** SQL functions on the bytes of Causeway's own spans. */
export const OWN_KIND = 'own_span_kind'
export const OWN_DURATION = 'own_span_duration'
const OWN_NAME = 'own_span_name'

const OWN: BlockSql = {
  newest: 'SELECT max(decision) FROM outbox',
  bytes: 'SELECT sum(length(extra)) FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL',
  groups: `SELECT scope, ${OWN_KIND}(extra) AS kind, 0 AS status, min(${OWN_DURATION}(extra)) AS shortest,
    max(${OWN_DURATION}(extra)) AS longest
    FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL GROUP BY 1, 2`,
  names: `SELECT DISTINCT ${OWN_NAME}(extra) FROM outbox
    WHERE decision > ? AND decision <= ? AND span IS NULL LIMIT ?`,
  rows: `SELECT group_concat(length(extra), ','), CAST(group_concat(CAST(extra AS TEXT), '') AS BLOB)
    FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL`,
}

/** Defines the functions that `SpanBlocks.own` needs. */
export function addOwnSpanFunctions(db: Sqlite): void {
  const define = (name: string, read: (bytes: Buffer) => number | bigint | string): void => {
    db.function(name, { deterministic: true }, (bytes: unknown) =>
      Buffer.isBuffer(bytes) ? read(bytes) : null,
    )
  }
  define(OWN_NAME, (bytes) => readOwnSpan(bytes).name)
  define(OWN_KIND, (bytes) => readOwnSpan(bytes).kind)
  define(OWN_DURATION, (bytes) => {
    const { startNs, endNs } = readOwnSpan(bytes)
    return endNs - startNs
  })
}

/**
 * Remembers what blocks of stored spans contain, so that a search can pass over those in which no span meets its hint. A block is read
 * once, by the first search that comes to it.
 */
export class SpanBlocks extends OnConnection {
  readonly #known = new Map<number, BlockFacts | undefined>()
  #bytes = 0
  /** Blocks before this one are no longer remembered. */
  #from = 0
  #newest = 0
  readonly #rowsABlock: number
  readonly #newestRow: () => number
  readonly #bytesIn: (after: number, upTo: number) => number
  readonly #groups: (after: number, upTo: number) => GroupRow[]
  readonly #names: (after: number, upTo: number) => string[]
  readonly #rows: (after: number, upTo: number) => [lengths: string | null, bytes: Buffer | null] | undefined

  /** Blocks of received spans, by their numbers. */
  static received(db: Sqlite, rowsABlock: number): SpanBlocks {
    return new SpanBlocks(db, RECEIVED, rowsABlock)
  }

  /** Blocks of Causeway's own spans, by the decisions that sent them. */
  static own(db: Sqlite, rowsABlock: number): SpanBlocks {
    return new SpanBlocks(db, OWN, rowsABlock)
  }

  private constructor(db: Sqlite, sql: BlockSql, rowsABlock: number) {
    super(db)
    this.#rowsABlock = rowsABlock
    const newest = db.prepare<[], number | null>(sql.newest).pluck()
    const bytes = db.prepare<[number, number], number | null>(sql.bytes).pluck()
    const groups = db.prepare<[number, number], GroupRow>(sql.groups).safeIntegers()
    const names = db.prepare<[number, number, number], string>(sql.names).pluck()
    const rows = db.prepare<[number, number], [string | null, Buffer | null]>(sql.rows).raw()
    this.#newestRow = () => newest.get() ?? 0
    this.#bytesIn = (after, upTo) => bytes.get(after, upTo) ?? 0
    this.#groups = (after, upTo) => groups.all(after, upTo)
    this.#names = (after, upTo) => names.all(after, upTo, MOST_NAMES + 1)
    this.#rows = (after, upTo) => rows.get(after, upTo)
  }

  /** Whether a row in this range, null if there is none, may meet a hint. Yields an empty page for each block that is read for that. */
  *mayHold(first: number | null, last: number | null, test: BlockTest): Generator<never[], boolean> {
    if (first === null || last === null) return false
    const oldest = this.#blockOf(first)
    for (let block = this.#blockOf(last); block >= oldest; block--) {
      const isRead = this.#known.has(block)
      const facts = this.#factsOf(block)
      if (!isRead && facts !== undefined) yield []
      if (facts === undefined || test(facts)) return true
    }
    return false
  }

  /** Undefined if it may still grow, is large, or lies further back than what is remembered. */
  #factsOf(block: number): BlockFacts | undefined {
    if (this.#known.has(block)) return this.#known.get(block)
    const [after, upTo] = [block * this.#rowsABlock, (block + 1) * this.#rowsABlock]
    if (block < this.#from) return undefined
    if (this.#newest <= upTo) this.#newest = this.#newestRow()
    if (this.#newest <= upTo) return undefined
    const facts = this.#read(after, upTo)
    this.#known.set(block, facts)
    this.#bytes += weightOf(facts)
    if (this.#bytes > MOST_BYTES) this.#forgetOldest()
    return facts
  }

  #blockOf(row: number): number {
    return Math.ceil(row / this.#rowsABlock) - 1
  }

  #read(after: number, upTo: number): BlockFacts | undefined {
    if (this.#bytesIn(after, upTo) > MOST_BYTES_OF_ROWS) return undefined
    const groups = this.#groups(after, upTo)
    const scopes = new Set(groups.map(({ scope }) => Number(scope)))
    const names = this.#names(after, upTo)
    return {
      shortestNs: groups.reduce((least, { shortest }) => (shortest < least ? shortest : least), MAX),
      longestNs: groups.reduce((most, { longest }) => (longest > most ? longest : most), MIN),
      kinds: groups.reduce((bits, { kind }) => bits | bitOf(Number(kind)), 0),
      statuses: groups.reduce((bits, { status }) => bits | bitOf(Number(status)), 0),
      scopes: scopes.size > MOST_SCOPES ? undefined : scopes,
      names: names.length > MOST_NAMES ? undefined : names,
      texts: this.#textsOf(after, upTo),
    }
  }

  #textsOf(after: number, upTo: number): TextFilter {
    const hashes = new Hashes()
    const [lengths, bytes] = this.#rows(after, upTo) ?? [null, null]
    if (lengths !== null && bytes !== null) {
      const texts = new SpanTexts(bytes, (start, end) => hashes.add(hashOf(bytes, start, end)))
      let at = 0
      for (const length of lengths.split(',')) texts.ofSpan(at, (at += Number(length)))
    }
    return new TextFilter(hashes.all)
  }

  /** An eighth of what there is, so that it is not looked for with each block. */
  #forgetOldest(): void {
    const oldest = [...this.#known.keys()].sort((a, b) => a - b)
    for (const block of oldest.slice(0, Math.ceil(oldest.length / 8))) {
      this.#bytes -= weightOf(this.#known.get(block))
      this.#known.delete(block)
      this.#from = block + 1
    }
  }
}

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** Numbers that OTLP does not have share the last bit. */
function bitOf(number: number): number {
  return 1 << (number >= 0 && number < 31 ? number : 31)
}

function weightOf(facts: BlockFacts | undefined): number {
  const names = facts?.names?.reduce((bytes, name) => bytes + BYTES_BESIDE_NAME + name.length, 0) ?? 0
  return BYTES_BESIDE + names + (facts?.texts.bytes ?? 0)
}

/** The test of a hint on blocks. `scopesWith` finds the scopes that meet a hint about them. */
export function blockTest(
  hint: SpanHint,
  scopesWith: (
    hint: Extract<SpanHint, { kind: 'service' | 'services' | 'resource' | 'scope' }>,
  ) => readonly number[],
): BlockTest {
  switch (hint.kind) {
    case 'and': {
      const tests = hint.of.map((part) => blockTest(part, scopesWith))
      return (facts) => tests.every((test) => test(facts))
    }
    case 'or': {
      const tests = hint.of.map((part) => blockTest(part, scopesWith))
      return (facts) => tests.some((test) => test(facts))
    }
    case 'holds':
      return ofText(hint.text)
    case 'name':
      return ofText(hint.value)
    case 'names': {
      const accepts = remembered(hint.accepts)
      return ({ names }) => names === undefined || names.some(accepts)
    }
    case 'kind':
      return ({ kinds }) => (kinds & bitOf(hint.value)) !== 0
    case 'status':
      return ({ statuses }) => (statuses & bitOf(hint.value)) !== 0
    case 'duration':
      return ofDuration(hint)
    case 'service':
    case 'services':
    case 'resource':
    case 'scope': {
      const wanted = scopesWith(hint)
      return ({ scopes }) => scopes === undefined || wanted.some((scope) => scopes.has(scope))
    }
  }
}

/** How many answers are remembered of a test on texts. */
const MOST_ANSWERS = 10_000

/** A test on texts that come again and again. */
function remembered(accepts: (text: string) => boolean): (text: string) => boolean {
  const known = new Map<string, boolean>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const accepted = accepts(text)
    if (known.size >= MOST_ANSWERS) known.clear()
    known.set(text, accepted)
    return accepted
  }
}

function ofText(text: string): BlockTest {
  const bytes = Buffer.from(text)
  const hash = hashOf(bytes, 0, bytes.length)
  return ({ texts }) => texts.mayHave(hash)
}

function ofDuration({ operator, value }: Extract<SpanHint, { kind: 'duration' }>): BlockTest {
  switch (operator) {
    case '=':
      return ({ shortestNs, longestNs }) => shortestNs <= value && longestNs >= value
    case '>':
      return ({ longestNs }) => longestNs > value
    case '>=':
      return ({ longestNs }) => longestNs >= value
    case '<':
      return ({ shortestNs }) => shortestNs < value
    case '<=':
      return ({ shortestNs }) => shortestNs <= value
  }
}

/** FNV-1a, 32 bits. */
function hashOf(bytes: Buffer, start: number, end: number): number {
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
    this.#set.add(hash)
  }

  get all(): ReadonlySet<number> {
    // One that is 0 looks like a place where nothing was.
    return this.#set.add(0)
  }
}

const BITS_A_TEXT = 12
const PROBES = 6

/** Says of a text that the rows of a block do not have it, or that they may: a Bloom filter, wrong for one text in three hundred. */
class TextFilter {
  readonly #words: Uint32Array

  constructor(hashes: ReadonlySet<number>) {
    this.#words = new Uint32Array(Math.ceil((hashes.size * BITS_A_TEXT) / 32))
    for (const hash of hashes) {
      for (let probe = 0; probe < PROBES; probe++) {
        const bit = this.#bit(hash, probe)
        this.#words[bit >>> 5] = (this.#words[bit >>> 5] ?? 0) | (1 << (bit & 31))
      }
    }
  }

  get bytes(): number {
    return this.#words.byteLength
  }

  mayHave(hash: number): boolean {
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = this.#bit(hash, probe)
      if (((this.#words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }

  #bit(hash: number, probe: number): number {
    return (mixed(hash + Math.imul(probe, 0x9e3779b9)) >>> 0) % (this.#words.length * 32)
  }
}
