import type { Cpid, CpidNode, GraphWatcher, MergeGraph, RankedCpid } from '../model/merge-graph.ts'

/** What a round looks at before it puts things off: CPIDs, and edges to them. An ask may look at as much, or at a few after that. */
const PER_ROUND = 1_000
const PER_ASK_AFTER = 20
/** CPIDs of which something is kept. One with more above it that are not explained is not waited for, and a root. */
const MAX_KNOWN = 200_000
const MAX_EDGES = 1_000_000

interface AncestrySettings {
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  /** How long an ancestor is missed before nothing waits for it. */
  waitMs: number
  /** What a round looks at; 1,000 CPIDs and edges unless given. */
  perRound?: number
  /** What one that asks after that may look at; 20 unless given. */
  perAskAfter?: number
}

/** What a CPID comes to whose mergelog has arrived but which is not explained. */
interface Known {
  readonly roots: readonly number[]
  /** Until when ancestors are waited for, in up time: the next that it is over for, and the last. The next may have passed. */
  nextEndMs: number
  readonly lastEndMs: number
}

/** A search that goes up from a CPID, which may be put off and gone on with. */
interface Walk {
  readonly from: number
  readonly stack: number[]
  /** Sources of those on the way that are to be known before them. */
  readonly sources: Map<number, readonly number[]>
  looked: number
}

/**
 * What is known above CPIDs that are not explained: their roots, and until when they wait. It is found out once, and
 * anew only below what has changed since: chains under a mergelog that never comes may be long, and every CPID of one asks.
 */
export class Ancestry implements GraphWatcher {
  readonly #graph: MergeGraph
  readonly #settings: AncestrySettings
  readonly #perRound: number
  readonly #perAskAfter: number
  readonly #known = new Map<number, Known>()
  /** Those that rest on a CPID: whoever is known has all below it in here. */
  readonly #below = new Map<number, number[]>()
  #edges = 0
  #walk: Walk | undefined
  #looked = 0
  #nowMs = 0

  constructor(graph: MergeGraph, settings: AncestrySettings) {
    this.#graph = graph
    this.#settings = settings
    this.#perRound = settings.perRound ?? PER_ROUND
    this.#perAskAfter = settings.perAskAfter ?? PER_ASK_AFTER
    graph.watch(this)
  }

  /** `nowMs`: up time of the round. */
  beginRound(nowMs: number): void {
    this.#nowMs = nowMs
    this.#looked = 0
    if (this.#known.size > MAX_KNOWN || this.#edges > MAX_EDGES) this.forget()
  }

  /** The round has looked at so much that what is left is better left to the next. */
  get isSpent(): boolean {
    return this.#looked >= this.#perRound
  }

  /**
   * When to look again at what waits for a CPID to be explained: the earliest moment at which one of its missing
   * ancestors has been missed for `wait`. Undefined when nothing is worth waiting for any more, `later` when that is
   * not found out yet: asking in later rounds goes on with it.
   */
  waitsUntil(id: number): number | undefined | 'later' {
    const nowMs = this.#nowMs
    const node = this.#graph.node(id)
    if (node.explained) return undefined
    if (!node.hasMergelog) {
      const endMs = this.#endOf(node)
      return endMs > nowMs ? endMs : undefined
    }
    if (!this.#known.has(id) && !this.#find(id)) return 'later'
    const known = this.#known.get(id)
    if (known === undefined || known.lastEndMs <= nowMs) return undefined
    return known.nextEndMs > nowMs ? known.nextEndMs : this.#nextEnd(id, known)
  }

  /**
   * The roots of a CPID as far as they are known: its fixed list once explained; before that the lists of its
   * explained ancestors, with each ancestor whose own mergelog is missing counting as a root (docs/linking.md, rule 8: "when a span
   * leaves"). Newest first.
   */
  roots(id: number): readonly number[] {
    const node = this.#graph.node(id)
    if (isEnd(node)) return rootsOf(node)
    if (!this.#known.has(id)) this.#goOn(walkFrom(id), Infinity)
    return this.#known.get(id)?.roots ?? [id]
  }

  changed(id: number): void {
    if (this.#known.size === 0 && this.#walk === undefined) return
    const stack = [id]
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      this.#known.delete(at)
      if (this.#walk?.sources.has(at) === true) this.#walk = walkFrom(this.#walk.from)
      const below = this.#below.get(at)
      if (below === undefined) continue
      this.#below.delete(at)
      this.#edges -= below.length
      for (const one of below) stack.push(one)
    }
  }

  forget(): void {
    this.#known.clear()
    this.#below.clear()
    this.#edges = 0
    this.#walk = undefined
  }

  /** Goes up from a CPID, after what was put off; false when it is put off as well. */
  #find(id: number): boolean {
    if (this.#walk !== undefined && !this.isSpent) {
      const most = this.#walk.from === id ? this.#perRound : this.#perRound / 2
      if (this.#goOn(this.#walk, most)) this.#walk = undefined
    }
    if (this.#known.has(id)) return true
    if (this.#walk?.from === id) return false
    const walk = walkFrom(id)
    if (this.#goOn(walk, this.#perAsk)) return true
    this.#walk ??= walk
    return false
  }

  get #perAsk(): number {
    return this.isSpent ? this.#perAskAfter : this.#perRound
  }

  /** Sources first, without recursion: a chain may be longer than a stack is deep. False when `most` was not enough. */
  #goOn(walk: Walk, most: number): boolean {
    const { stack, sources } = walk
    const upTo = this.#looked + most
    for (let id = stack.at(-1); id !== undefined; id = stack.at(-1)) {
      if (this.#isKnown(id)) {
        sources.delete(id)
        stack.pop()
        continue
      }
      if (this.#looked >= upTo) return false
      let above = sources.get(id)
      if (above === undefined) {
        above = this.#graph.sourcesOf(id)
        sources.set(id, above)
        this.#looked += 1 + above.length
        walk.looked++
      }
      let isReady = true
      for (const source of above) {
        if (sources.has(source) || this.#isKnown(source)) continue
        stack.push(source)
        isReady = false
      }
      if (!isReady && walk.looked <= MAX_KNOWN) continue
      this.#add(id, above)
      this.#looked++
    }
    return true
  }

  #isKnown(id: number): boolean {
    if (this.#known.has(id)) return true
    const node = this.#graph.maybeNode(id)
    return node === undefined || isEnd(node)
  }

  #add(id: number, sources: readonly number[]): void {
    const lists: (readonly number[])[] = []
    let nextEndMs = Infinity
    let lastEndMs = -Infinity
    for (const source of sources) {
      const known = this.#known.get(source)
      const node = known === undefined ? this.#graph.maybeNode(source) : undefined
      const roots = known?.roots ?? (node && rootsOf(node))
      if (roots !== undefined && !lists.includes(roots)) lists.push(roots)
      const lastMs = known?.lastEndMs ?? (node === undefined ? -Infinity : this.#endOf(node))
      if (lastMs > this.#nowMs) nextEndMs = Math.min(nextEndMs, known?.nextEndMs ?? lastMs)
      lastEndMs = Math.max(lastEndMs, lastMs)
      const below = this.#below.get(source)
      if (below === undefined) this.#below.set(source, [id])
      else below.push(id)
    }
    this.#edges += sources.length
    const [one] = lists
    const isOnly = lists.length === 1 && one !== undefined && one.length <= this.#settings.maxFanout
    const roots = isOnly ? one : newestRoots(lists, this.#settings.maxFanout)
    this.#known.set(id, { roots, nextEndMs, lastEndMs })
  }

  /** The next end after a moment when the one that was known has passed; the last where there are too many to look through. */
  #nextEnd(id: number, known: Known): number {
    const nowMs = this.#nowMs
    const upTo = this.#looked + this.#perAsk
    const seen = new Set([id])
    let nextEndMs = Infinity
    for (const at of seen) {
      if (this.#looked >= upTo) return known.lastEndMs
      const sources = this.#graph.sourcesOf(at)
      this.#looked += 1 + sources.length
      for (const source of sources) {
        const above = this.#known.get(source)
        if (above === undefined) {
          const node = this.#graph.maybeNode(source)
          const endMs = node === undefined ? -Infinity : this.#endOf(node)
          if (endMs > nowMs) nextEndMs = Math.min(nextEndMs, endMs)
        } else if (above.nextEndMs > nowMs) nextEndMs = Math.min(nextEndMs, above.nextEndMs)
        else if (above.lastEndMs > nowMs) seen.add(source)
      }
    }
    known.nextEndMs = nextEndMs
    return nextEndMs
  }

  #endOf(node: CpidNode): number {
    return node.explained ? -Infinity : node.missingSinceMs + this.#settings.waitMs
  }
}

/** One that is explained, or whose own mergelog has not arrived: nothing above it matters. */
function isEnd(node: CpidNode): boolean {
  return node.explained || !node.hasMergelog
}

function rootsOf(node: CpidNode): readonly number[] {
  return node.roots ?? [node.id]
}

function walkFrom(id: number): Walk {
  return { from: id, stack: [id], sources: new Map(), looked: 0 }
}

/** Unites root lists and keeps the `most` newest. Ids grow by first sighting, so the newest is the highest. */
export function newestRoots(lists: Iterable<readonly number[]>, most: number): number[] {
  const united = new Set<number>()
  for (const list of lists) for (const root of list) united.add(root)
  return [...united].sort((a, b) => b - a).slice(0, most)
}

const PAGE = 64

/**
 * Those of some CPIDs that no other of them descends from: what a write that read objects of all of them merges (Algorithm 1
 * of the paper, with the merge graph itself in place of the ancestors that objects carry). CPIDs that nobody knows descend from
 * nothing. At most `maxEdges` edges are looked at, newest first; what they do not tell counts as unrelated, so that a merge too
 * many may be made, never one too few.
 */
export function newestChanges(graph: MergeGraph, cpids: readonly Cpid[], maxEdges: number): Cpid[] {
  const [first, ...others] = cpids
  if (first === undefined || others.length === 0) return [...cpids]
  const nodes = cpids.flatMap((cpid) => graph.find(cpid) ?? [])
  const older = ancestorsAmong(graph, nodes, maxEdges)
  return cpids.filter((cpid) => !older.has(cpid))
}

/** Which of some CPIDs another of them descends from. A source never has a higher rank than what it merged into. */
function ancestorsAmong(graph: MergeGraph, nodes: readonly CpidNode[], maxEdges: number): Set<Cpid> {
  const wanted = new Map(nodes.map((node) => [node.id, node]))
  const lowest = Math.min(...nodes.map(({ rank }) => rank))
  const found = new Set<Cpid>()
  const seen = new Set<number>()
  const frontier = nodes.map(({ id, rank }) => ({ id, rank })).sort(byRank)
  let left = maxEdges
  for (let next = frontier.pop(); next !== undefined && left > 0; next = frontier.pop()) {
    for (let after = 0, more = true; more && left > 0;) {
      const sources = graph.rankedSources(next.id, after, PAGE)
      left -= Math.max(1, sources.length)
      for (const source of sources) {
        const known = wanted.get(source.id)
        if (known !== undefined) found.add(known.cpid)
        if (seen.has(source.id) || source.rank < lowest) continue
        seen.add(source.id)
        insert(frontier, source)
      }
      after = sources.at(-1)?.id ?? 0
      more = sources.length === PAGE
    }
    if (found.size === nodes.length - 1) break
  }
  return found
}

/** Keeps the frontier in order, highest rank last. */
function insert(frontier: RankedCpid[], one: RankedCpid): void {
  let [low, high] = [0, frontier.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (byRank(frontier[middle] ?? one, one) < 0) low = middle + 1
    else high = middle
  }
  frontier.splice(low, 0, one)
}

function byRank(one: RankedCpid, other: RankedCpid): number {
  return one.rank - other.rank || one.id - other.id
}
