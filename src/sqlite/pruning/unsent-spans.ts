import type { Statements } from './statements.ts'

/** Decisions in a block. */
const BLOCK = 4_096
const BLOCKS_AT_ONCE = 3

/**
 * The lowest span that decisions after a position are about. It is remembered block by block, so that only new decisions
 * are read, however many a dead backend leaves.
 */
export class UnsentSpans {
  readonly #sql: Statements
  #lowest = new Map<number, number>()
  #upTo = 0

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** Infinity when there are none; undefined while not all decisions up to the last have been read. */
  lowestAfter(position: number, last: number): number | undefined {
    for (const block of this.#lowest.keys()) {
      if ((block + 1) * BLOCK > position) break
      this.#lowest.delete(block)
    }
    this.#upTo = Math.max(this.#upTo, position)
    for (let read = 0; this.#upTo < last; read++) {
      if (read === BLOCKS_AT_ONCE) return undefined
      this.#readOn(last)
    }
    let lowest = Infinity
    for (const span of this.#lowest.values()) if (span < lowest) lowest = span
    return lowest
  }

  /** Decisions may have been given anew. */
  forget(): void {
    this.#lowest.clear()
    this.#upTo = 0
  }

  /** The rest of the block after the last decision that was read. */
  #readOn(last: number): void {
    const block = Math.floor(this.#upTo / BLOCK)
    const end = Math.min(last, (block + 1) * BLOCK)
    const lowest = this.#sql.number(
      'SELECT min(span) FROM outbox WHERE decision > +? AND decision <= +?',
      this.#upTo,
      end,
    )
    this.#upTo = end
    if (lowest === undefined) return
    this.#lowest.set(block, Math.min(lowest, this.#lowest.get(block) ?? Infinity))
  }
}
