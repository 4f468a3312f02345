import type { SpanHint, SpanTest } from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import type { Sqlite } from './open-database.ts'
import { bitOf, type BlockFacts, eachRow, hashOf, mayHave, StoredBlocks } from './span-block-facts.ts'

/** The most bytes of cached summaries of one kind. */
const MOST_BYTES = 24 * MIB
/** The assumed bytes of a summary besides its filter and names, and of a name besides its characters. */
const BYTES_BESIDE = 1_024
const BYTES_BESIDE_NAME = 32

/** Whether some row of a block may meet a hint, by its summary. */
export type BlockTest = (facts: BlockFacts) => boolean

/**
 * Summaries of blocks of stored spans, by which a search skips blocks in which no span meets its hint. The first search that needs a
 * summary computes it, unless it is stored.
 */
export class SpanBlocks {
  readonly #known = new Map<number, BlockFacts>()
  #bytes = 0
  /** Summaries of blocks before this one are no longer cached. */
  #from = 0
  #newest = 0
  readonly stored: StoredBlocks
  /** A cache by test: a search reads a block twice, for traces of cascades and for forwarded spans. */
  readonly #tested = new WeakMap<SpanTest, TestedRows>()

  /** The blocks of received spans, by row. */
  static received(db: Sqlite, rowsABlock: number): SpanBlocks {
    return new SpanBlocks(new StoredBlocks(db, 'received', rowsABlock))
  }

  /** The blocks of Causeway's own spans, by decision. */
  static own(db: Sqlite, rowsABlock: number): SpanBlocks {
    return new SpanBlocks(new StoredBlocks(db, 'own', rowsABlock))
  }

  private constructor(stored: StoredBlocks) {
    this.stored = stored
  }

  /** The rows of full blocks that pass the test of a search. */
  testedBy(test: SpanTest, read: { add(bytes: number): void }): TestedRows {
    const known = this.#tested.get(test)
    if (known !== undefined) return known
    const tested = new TestedRows(this.stored, test, read)
    this.#tested.set(test, tested)
    return tested
  }

  /** Whether a wanted row in this range (empty if null) may meet a hint. Yields an empty page when others may take a turn. */
  *mayHold(
    first: number | null,
    last: number | null,
    test: BlockTest | undefined,
    wanted?: WantedRows,
  ): Generator<never[], boolean> {
    if (first === null || last === null) return false
    const oldest = this.stored.blockOf(first)
    for (let block = this.stored.blockOf(last); block >= oldest; block--) {
      const facts = test && (yield* this.#factsOf(block))
      if (facts !== undefined && test?.(facts) === false) continue
      if (wanted === undefined || !this.#isFull(block)) return true
      const rows = yield* wanted.tested.of(block, () => this.known(block)?.bytes)
      const inRange = rows.filter((row) => row >= first && row <= last)
      if (inRange.length > MOST_LOOKED_UP || inRange.some(wanted.isOne)) return true
    }
    return false
  }

  /** The summary of a block, if cached or stored. */
  known(block: number): BlockFacts | undefined {
    const remembered = this.#known.get(block)
    if (remembered !== undefined) return remembered
    const kept = this.stored.kept(block)
    if (kept !== undefined) this.#remember(block, kept)
    return kept
  }

  /** Undefined if the block is not full, or its summary is neither stored nor cached any more. */
  *#factsOf(block: number): Generator<never[], BlockFacts | undefined> {
    const known = this.known(block)
    if (known !== undefined || block < this.#from || !this.#isFull(block)) return known
    const read = yield* this.#read(block)
    this.#remember(block, read)
    return read
  }

  #isFull(block: number): boolean {
    const [, upTo] = this.stored.boundsOf(block)
    if (this.#newest <= upTo) this.#newest = this.stored.newest
    return this.#newest > upTo
  }

  *#read(block: number): Generator<never[], BlockFacts> {
    const reading = this.stored.read(block)
    for (let read = reading.next(); ; read = reading.next()) {
      if (read.done === true) return read.value
      yield []
    }
  }

  #remember(block: number, facts: BlockFacts): void {
    if (block < this.#from || this.#known.has(block)) return
    this.#known.set(block, facts)
    this.#bytes += weightOf(facts)
    if (this.#bytes > MOST_BYTES) this.#forgetOldest()
  }

  /** Drops an eighth of the cached summaries, so that this is rarely needed. */
  #forgetOldest(): void {
    const oldest = [...this.#known].sort(([a], [b]) => a - b)
    for (const [block, facts] of oldest.slice(0, Math.ceil(oldest.length / 8))) {
      this.#bytes -= weightOf(facts)
      this.#known.delete(block)
      this.#from = block + 1
    }
  }
}

function weightOf(facts: BlockFacts): number {
  const names = facts.names?.reduce((bytes, name) => bytes + BYTES_BESIDE_NAME + name.length, 0) ?? 0
  return BYTES_BESIDE + names + (facts.texts?.length ?? 0)
}

/** The rows that a search wants: those that pass a test and belong to one trace. */
interface WantedRows {
  readonly tested: TestedRows
  readonly isOne: (row: number) => boolean
}

/** Up to this many rows are looked up one by one. */
const MOST_LOOKED_UP = 100
/** How many blocks are cached: cascades that run at the same time have rows in the same blocks. */
const MOST_BLOCKS = 256

/** The rows of full blocks that pass the test of a search. Whole blocks are read, which is faster than the rows of a trace. */
export class TestedRows {
  readonly #stored: StoredBlocks
  readonly #test: SpanTest
  readonly #read: { add(bytes: number): void }
  readonly #known = new Map<number, readonly number[]>()
  readonly #empty = new Set<number>()

  constructor(stored: StoredBlocks, test: SpanTest, read: { add(bytes: number): void }) {
    this.#stored = stored
    this.#test = test
    this.#read = read
  }

  /** The rows of a block that pass. Yields an empty page when others may take a turn. */
  *of(block: number, bytesOf: () => number | undefined): Generator<never[], readonly number[]> {
    if (this.#empty.has(block)) return []
    const known = this.#known.get(block)
    if (known !== undefined) return known
    const found: number[] = []
    for (const rows of this.#stored.joined(block, bytesOf())) {
      const { bytes } = rows
      if (bytes !== null) {
        this.#read.add(bytes.length)
        eachRow(rows, (row, scope, start, end) => {
          if (this.#test(bytes, start, end, scope)) found.push(row)
        })
      }
      yield []
    }
    if (found.length === 0) this.#empty.add(block)
    else {
      for (const oldest of this.#known.keys()) {
        if (this.#known.size < MOST_BLOCKS) break
        this.#known.delete(oldest)
      }
      this.#known.set(block, found)
    }
    return found
  }
}

/** Compiles a hint into a test of summaries. `scopesWith` finds the scopes that meet a hint about scopes. */
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

/** How many results of a test on strings are cached. */
const MOST_ANSWERS = 10_000

/** Caches the results of a test on strings. */
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
  return ({ texts }) => mayHave(texts, hash)
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
