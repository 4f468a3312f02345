/** An item of a fair queue. */
export interface Queued {
  /** Who shares the time, a key for each level: the client, then its connection, and so on. */
  readonly path: readonly (number | string)[]
  /** The estimated time that it takes, in milliseconds. */
  costMs: number
}

/** Up to this many idle lanes are kept without a search for those that can be dropped. */
const FEW = 64

/** The waiting items of one key. */
interface Lane<T> {
  readonly line: Line<T>
  /** When its next item would start, in virtual time. */
  startsMs: number
}

interface Line<T> {
  readonly size: number
  add(item: T): void
  putBackOne(item: T): void
  /** An item took so much more than was thought, or less. */
  correct(item: Queued, moreMs: number): void
  peek(): T | undefined
  shift(): T | undefined
}

/** The lane that is next, and when its first item would end. */
interface Found<T> {
  readonly key: number | string
  readonly lane: Lane<T>
  readonly endsMs: number
}

function endOf<T extends Queued>({ line, startsMs }: Lane<T>): number {
  return startsMs + (line.peek()?.costMs ?? 0)
}

/**
 * Shares time between clients, and the time of each between its connections and flows (weighted fair queueing; Demers, Keshav
 * and Shenker, 1989). The item comes first that would end first if all that wait were served at the same time, each with
 * an equal share: who waits all the time gets the same time as others, whatever its items take, and who comes seldom with
 * little comes next, however many others wait.
 */
export class FairQueue<T extends Queued> implements Line<T> {
  readonly #levels: number
  readonly #level: number
  readonly #lanes = new Map<number | string, Lane<T>>()
  /** The virtual time at which the last item of each idle lane ends, while that is in the future. Cleared when nothing waits. */
  readonly #ended = new Map<number | string, number>()
  /** Virtual time: how much service a lane got that always had items waiting. */
  #nowMs = 0
  #size = 0
  #found: Found<T> | undefined

  /** `levels`: how many keys a path has. Each lane of a level is a queue of the next. */
  constructor(levels: number, level = 0) {
    this.#levels = levels
    this.#level = level
  }

  get size(): number {
    return this.#size
  }

  add(item: T): void {
    const lane = this.#laneOf(item)
    lane.line.add(item)
    this.#size++
    // An item behind others of its lane does not change which lane is next.
    if (this.#found?.lane === lane || endOf(lane) < (this.#found?.endsMs ?? 0)) this.#found = undefined
  }

  putBackOne(item: T): void {
    const lane = this.#laneOf(item)
    lane.line.putBackOne(item)
    lane.startsMs -= item.costMs
    this.#nowMs -= item.costMs / this.#lanes.size
    this.#size++
    this.#found = undefined
  }

  correct(item: Queued, moreMs: number): void {
    const key = this.#keyOf(item)
    const lane = this.#lanes.get(key)
    this.#found = undefined
    // Virtual time follows, or a new lane would start far behind or far ahead of the waiting ones.
    this.#nowMs += moreMs / (this.#lanes.size + (lane === undefined ? 1 : 0))
    if (lane !== undefined) {
      lane.startsMs += moreMs
      lane.line.correct(item, moreMs)
    } else if (this.#size > 0) {
      const endedMs = Math.max(this.#ended.get(key) ?? 0, this.#nowMs) + moreMs
      if (endedMs > this.#nowMs) this.#ended.set(key, endedMs)
      else this.#ended.delete(key)
    }
  }

  peek(): T | undefined {
    return this.#next()?.lane.line.peek()
  }

  shift(): T | undefined {
    const next = this.#next()
    const item = next?.lane.line.shift()
    if (next === undefined || item === undefined) return undefined
    const { lane, key } = next
    lane.startsMs += item.costMs
    this.#nowMs += item.costMs / this.#lanes.size
    this.#size--
    this.#found = undefined
    if (lane.line.size === 0) this.#rest(key, lane)
    return item
  }

  /** Takes back what was taken and not stored: it is next among those of its flow. */
  putBack(items: readonly T[]): void {
    for (const item of items.toReversed()) this.putBackOne(item)
  }

  /** Takes out what is next, at least one item and then as many as can be done in so many milliseconds. */
  take(maxMs: number): T[] {
    const taken: T[] = []
    let leftMs = maxMs
    while (leftMs > 0) {
      const next = this.peek()
      if (next === undefined || (taken.length > 0 && next.costMs > leftMs)) break
      this.shift()
      leftMs -= next.costMs
      taken.push(next)
    }
    return taken
  }

  #rest(key: number | string, { startsMs }: Lane<T>): void {
    this.#lanes.delete(key)
    this.#ended.set(key, startsMs)
    if (this.#size === 0) this.#ended.clear()
    else if (this.#ended.size > 2 * this.#lanes.size + FEW) this.#forgetEnded()
  }

  #forgetEnded(): void {
    for (const [key, endedMs] of this.#ended) if (endedMs <= this.#nowMs) this.#ended.delete(key)
  }

  #next(): Found<T> | undefined {
    if (this.#found !== undefined) return this.#found
    for (const [key, lane] of this.#lanes) {
      const endsMs = endOf(lane)
      if (endsMs < (this.#found?.endsMs ?? Infinity)) this.#found = { key, lane, endsMs }
    }
    return this.#found
  }

  #laneOf(item: T): Lane<T> {
    const key = this.#keyOf(item)
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      const isLast = this.#level + 1 === this.#levels
      const line = isLast ? new InOrder<T>() : new FairQueue<T>(this.#levels, this.#level + 1)
      lane = { line, startsMs: Math.max(this.#nowMs, this.#ended.get(key) ?? 0) }
      this.#lanes.set(key, lane)
      this.#ended.delete(key)
    }
    return lane
  }

  #keyOf({ path }: Queued): number | string {
    return path[this.#level] ?? 0
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

  putBackOne(item: T): void {
    this.#items.unshift(item)
  }

  correct(): void {
    // The items of one flow keep their order.
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  shift(): T | undefined {
    return this.#items.shift()
  }
}
