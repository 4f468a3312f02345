/** What waits in a fair queue. */
export interface Queued {
  /** Whose turn it takes, a number at each level: of a peer, then of one of its flows. */
  readonly path: readonly number[]
  /** What it will take, in milliseconds, as far as anybody knows. */
  costMs: number
}

/** How long one may take before it is the next one's turn. */
const QUANTUM_MS = 2

/** Those that have something waiting, each with a line of its own. */
interface Lane<T> {
  readonly line: Line<T>
  /** What it may still take in this turn, in milliseconds; below zero when an item took more. */
  creditMs: number
}

interface Line<T> {
  readonly size: number
  add(item: T): void
  putBack(item: T): void
  correct(path: readonly number[], moreMs: number): void
  peek(): T | undefined
  shift(): T | undefined
}

/**
 * Serves peers in turn, and the flows of each, by what they cost (deficit round robin; Shreedhar and Varghese, 1995): however
 * much of one waits, the others get their share, and who makes up flows has no more of it. Whoever comes anew waits a
 * round at most.
 */
export class FairQueue<T extends Queued> {
  readonly #line: Turns<T>

  /** `levels`: how many numbers a path has. */
  constructor(levels: number) {
    this.#line = new Turns<T>(levels)
  }

  get size(): number {
    return this.#line.size
  }

  add(item: T): void {
    this.#line.add(item)
  }

  /** Takes back what was taken and not stored: it is next among those of its flow. */
  putBack(items: readonly T[]): void {
    for (const item of items.toReversed()) this.#line.putBack(item)
  }

  /** An item took so much more than was thought, or less. */
  correct({ path }: Queued, moreMs: number): void {
    this.#line.correct(path, moreMs)
  }

  /** Takes out what is next, at least one item and then as many as can be done in so many milliseconds. */
  take(maxMs: number): T[] {
    const taken: T[] = []
    let leftMs = maxMs
    while (leftMs > 0) {
      const next = this.#line.peek()
      if (next === undefined || (taken.length > 0 && next.costMs > leftMs)) break
      this.#line.shift()
      leftMs -= next.costMs
      taken.push(next)
    }
    return taken
  }
}

/** One level of turns. */
class Turns<T extends Queued> implements Line<T> {
  readonly #levels: number
  readonly #level: number
  /** In the order of their turns. */
  readonly #lanes = new Map<number, Lane<T>>()
  #size = 0

  constructor(levels: number, level = 0) {
    this.#levels = levels
    this.#level = level
  }

  get size(): number {
    return this.#size
  }

  add(item: T): void {
    this.#laneOf(item).line.add(item)
    this.#size++
  }

  putBack(item: T): void {
    const lane = this.#laneOf(item)
    lane.line.putBack(item)
    lane.creditMs += item.costMs
    this.#size++
  }

  correct(path: readonly number[], moreMs: number): void {
    const lane = this.#lanes.get(path[this.#level] ?? 0)
    if (lane === undefined) return
    lane.creditMs -= moreMs
    lane.line.correct(path, moreMs)
  }

  peek(): T | undefined {
    return this.#next()?.line.peek()
  }

  shift(): T | undefined {
    const lane = this.#next()
    const item = lane?.line.shift()
    if (lane === undefined || item === undefined) return undefined
    lane.creditMs -= item.costMs
    if (lane.line.size === 0) this.#lanes.delete(item.path[this.#level] ?? 0)
    this.#size--
    return item
  }

  #next(): Lane<T> | undefined {
    for (const [key, lane] of this.#lanes) {
      if (lane.creditMs > 0) return lane
      lane.creditMs += QUANTUM_MS
      this.#lanes.delete(key)
      // The map goes on with it after the others.
      this.#lanes.set(key, lane)
    }
    return undefined
  }

  #laneOf({ path }: T): Lane<T> {
    const key = path[this.#level] ?? 0
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      const isLast = this.#level + 1 === this.#levels
      const line = isLast ? new InOrder<T>() : new Turns<T>(this.#levels, this.#level + 1)
      lane = { line, creditMs: QUANTUM_MS }
      this.#lanes.set(key, lane)
    }
    return lane
  }
}

/** The items of one flow. */
class InOrder<T> implements Line<T> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    this.#items.push(item)
  }

  putBack(item: T): void {
    this.#items.unshift(item)
  }

  correct(): void {
    // Nobody else has a turn here.
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  shift(): T | undefined {
    return this.#items.shift()
  }
}
