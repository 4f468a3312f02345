import type { MergeGraph } from '../model/merge-graph.ts'
import type { ProcessedUpTo, PruneCandidate, PruneHold } from '../model/store-ports.ts'

const CANDIDATES_A_PAGE = 100
const SEGMENT = 1_000

type ReadCandidates = (
  after: PruneCandidate | undefined,
  before: PruneCandidate | undefined,
  limit: number,
) => PruneCandidate[]

/** Consecutive candidates that are all held, and for each kind of progress the lowest position that may free one of them. */
interface Segment {
  readonly first: PruneCandidate
  last: PruneCandidate
  size: number
  readonly until: ProcessedUpTo
}

/**
 * Visits the candidates in order, round after round. Held candidates are skipped in segments of a thousand, until one in the segment may
 * be free. So the cost of a round depends on what is new, not on how much a dead backend holds.
 */
export class CandidateScan {
  /** The segments that this round has skipped, and those that are still ahead. */
  #passed: Segment[] = []
  #ahead: Segment[] = []
  #at = 0
  #after: PruneCandidate | undefined
  #before: PruneCandidate | undefined
  #page: PruneCandidate[] = []
  #taken = 0
  #isLastPage = false
  #isDone = true
  #reached: ProcessedUpTo = nothingReached()

  /** How many candidates are skipped. */
  get held(): number {
    let held = 0
    for (const { size } of this.#passed) held += size
    for (let at = this.#at; at < this.#ahead.length; at++) held += this.#ahead[at]?.size ?? 0
    return held
  }

  get isEmpty(): boolean {
    return this.#passed.length === 0 && this.#at >= this.#ahead.length
  }

  /** Begins a round; `before` is where it ends. */
  begin(reached: ProcessedUpTo, before?: PruneCandidate): void {
    this.#ahead = this.#segments()
    this.#passed = []
    this.#at = 0
    this.#after = undefined
    this.#before = before
    this.#page = []
    this.#taken = 0
    this.#isLastPage = false
    this.#isDone = false
    this.#reached = { ...reached }
  }

  /** The next candidate that may be free; undefined at the end of the round, and when `isUp` says so. */
  next(read: ReadCandidates, isUp: () => boolean): PruneCandidate | undefined {
    for (;;) {
      const candidate = this.#page[this.#taken++]
      if (candidate !== undefined) {
        this.#after = candidate
        return candidate
      }
      this.#page = []
      if (this.#isLastPage) this.#passSegment()
      if (this.#isDone || isUp()) return undefined
      this.#page = read(this.#after, this.#endOfGap() ?? this.#before, CANDIDATES_A_PAGE)
      this.#taken = 0
      this.#isLastPage = this.#page.length < CANDIDATES_A_PAGE
    }
  }

  /** The candidate that came last is held. */
  hold(candidate: PruneCandidate, hold: PruneHold): void {
    const open = this.#passed.at(-1)
    const segment = open !== undefined && open.size < SEGMENT ? open : undefined
    const into = segment ?? { first: candidate, last: candidate, size: 0, until: nothingReached() }
    into.last = candidate
    into.size++
    if (hold.at < into.until[hold.until]) into.until[hold.until] = hold.at
    if (segment === undefined) this.#passed.push(into)
  }

  /** A candidate was added at a place that may lie in a skipped segment: that segment is visited again. */
  mark(place: PruneCandidate): void {
    for (const segments of [this.#passed, this.#ahead]) {
      const segment = segmentAt(segments, place)
      if (segment !== undefined) segment.until.activeMs = 0
    }
  }

  forget(): void {
    this.#passed = []
    this.#ahead = []
    this.#at = 0
    this.#page = []
    this.#isLastPage = false
    this.#isDone = true
  }

  #segments(): Segment[] {
    return [...this.#passed, ...this.#ahead.slice(this.#at)]
  }

  /** Where the next skipped segment begins. Segments with a candidate that may be free now are dropped, and so visited again. */
  #endOfGap(): PruneCandidate | undefined {
    for (let next = this.#ahead[this.#at]; next !== undefined; next = this.#ahead[++this.#at]) {
      if (!isOver(next.until, this.#reached)) return next.first
    }
    return undefined
  }

  #passSegment(): void {
    this.#isLastPage = false
    const next = this.#ahead[this.#at++]
    if (next === undefined) {
      this.#isDone = true
      return
    }
    this.#after = next.last
    const before = this.#passed.at(-1)
    if (before === undefined || before.size + next.size > SEGMENT) {
      this.#passed.push(next)
      return
    }
    before.last = next.last
    before.size += next.size
    for (const kind of KINDS) before.until[kind] = Math.min(before.until[kind], next.until[kind])
  }
}

const KINDS = ['decision', 'logDecision', 'arrival', 'activeMs', 'wallMs'] as const

function nothingReached(): ProcessedUpTo {
  return {
    decision: Infinity,
    logDecision: Infinity,
    arrival: Infinity,
    activeMs: Infinity,
    wallMs: Infinity,
  }
}

function isOver(until: ProcessedUpTo, reached: ProcessedUpTo): boolean {
  return KINDS.some((kind) => until[kind] !== Infinity && reached[kind] >= until[kind])
}

/** The segment that a place lies in; they are in order. */
function segmentAt(segments: readonly Segment[], place: PruneCandidate): Segment | undefined {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >> 1
    const segment = segments[middle]
    if (segment !== undefined && isBefore(segment.last, place)) low = middle + 1
    else high = middle
  }
  const found = segments[low]
  return found === undefined || isBefore(place, found.first) ? undefined : found
}

function isBefore(a: PruneCandidate, b: PruneCandidate): boolean {
  return a.timeNs < b.timeNs || (a.timeNs === b.timeNs && a.id < b.id)
}

const EDGES_A_PAGE = 64
/** At most this many are found in advance; further ones are checked only when they are removed. */
const MOST = 100_000

/**
 * Yields a candidate, then the CPIDs that would lose their last incoming edge with it, sources before what they merged into. It can be
 * interrupted after each step, however many there are.
 */
export class CascadeWalk {
  readonly candidate: PruneCandidate
  /** It was begun in an earlier turn, so what it found may be outdated. */
  isOld = false
  readonly #graph: MergeGraph
  readonly #going: number[]
  readonly #left = new Map<number, number>()
  #looked = 0
  #at = 0
  #after = 0

  constructor(graph: MergeGraph, candidate: PruneCandidate) {
    this.#graph = graph
    this.candidate = candidate
    this.#going = [candidate.id]
  }

  /** Whether the candidate is there, and no edge points to it. */
  get isStillCandidate(): boolean {
    const node = this.#graph.maybeNode(this.candidate.id)
    return node !== undefined && !node.pruned && node.inDegree === 0
  }

  /** All that were found. */
  get members(): readonly number[] {
    return this.#going
  }

  /** The next CPID. 'none yet' after a step that visited edges and found none; undefined at the end. */
  next(): number | 'none yet' | undefined {
    if (this.#looked === this.#going.length && !this.#isAtEnd) this.#expand()
    if (this.#looked < this.#going.length) return this.#going[this.#looked++]
    return this.#isAtEnd ? undefined : 'none yet'
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#going.length || this.#going.length >= MOST
  }

  /** Looks at one page of edges. */
  #expand(): void {
    const page = this.#graph.targetsAfter(this.#going[this.#at] ?? 0, this.#after, EDGES_A_PAGE)
    for (const target of page) {
      const incoming = (this.#left.get(target) ?? this.#graph.node(target).inDegree) - 1
      if (incoming === 0) {
        this.#left.delete(target)
        this.#going.push(target)
      } else this.#left.set(target, incoming)
    }
    const last = page.at(-1)
    this.#after = page.length < EDGES_A_PAGE ? 0 : (last ?? 0)
    if (this.#after === 0) this.#at++
  }
}
