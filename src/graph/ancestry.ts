import type { Cpid, CpidNode, GraphWatcher, MergeGraph, RankedCpid } from '../model/merge-graph.ts'

/** How many CPIDs and edges the questions of one round visit together. After that, each further question visits only `PER_ASK_AFTER`. */
const PER_ROUND = 1_000
const PER_ASK_AFTER = 20
/** For how many CPIDs results are cached. A CPID with more unexplained ancestors is not waited for, and counts as a root. */
const MAX_KNOWN = 200_000
const MAX_EDGES = 1_000_000

interface AncestrySettings {
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  /** How long an ancestor is missed before nothing waits for it. */
  waitMs: number
  /** How many CPIDs and edges a round visits; 1,000 unless given. */
  perRound?: number
  /** How many each question visits after that; 20 unless given. */
  perAskAfter?: number
}

/** The result for a CPID whose mergelog has arrived but which is not explained. */
interface Known {
  readonly roots: readonly number[]
  /** When the first and the last wait for a missing ancestor ends, in up time. The first may have ended already. */
  nextEndMs: number
  readonly lastEndMs: number
}

/** A search upward from a CPID. It may be interrupted and continued in a later round. */
interface Walk {
  readonly from: number
  readonly stack: number[]
  /** The sources of CPIDs on the stack: their results are needed first. */
  readonly sources: Map<number, readonly number[]>
  looked: number
}

/**
 * Finds the roots of unexplained CPIDs, and until when they wait. Results are cached until something above the CPID changes: below a
 * mergelog that never arrives chains may be long, and every CPID of a chain asks.
 */
export class Ancestry implements GraphWatcher {
  readonly #graph: MergeGraph
  readonly #settings: AncestrySettings
  readonly #perRound: number
  readonly #perAskAfter: number
  readonly #known = new Map<number, Known>()
  /** The CPIDs whose cached results depend on a CPID. */
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

  /** Whether this round has visited as much as it may. The rest is left to the next round. */
  get isSpent(): boolean {
    return this.#looked >= this.#perRound
  }

  /**
   * When to check again what waits for a CPID to be explained: the earliest moment at which one of its missing ancestors has been missed for
   * `wait`. Undefined if no wait is left. `later` if the search is unfinished; a question in a later round continues it.
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

  /** Searches upward from a CPID, after an interrupted search. False if this search is interrupted too. */
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

  /** Visits sources first, without recursion, since a chain may be longer than the stack is deep. False if `most` visits were too few. */
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

  /** When the next wait ends, if the first one has ended already. When the last one ends, if there are too many ancestors to visit. */
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

/** Whether a search stops here: the CPID is explained, or its own mergelog has not arrived. */
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
 * The CPIDs in the list from which no other CPID in the list descends. A write that read objects of all of them merges these (Algorithm 1
 * of the paper, which uses the ancestors on the objects; this uses the merge graph). Unknown CPIDs descend from nothing. Visits at most
 * `maxEdges` edges, newest first. CPIDs that are not related by these count as unrelated: so a needless merge is possible, a missing one is not.
 */
export function newestChanges(graph: MergeGraph, cpids: readonly Cpid[], maxEdges: number): Cpid[] {
  const [first, ...others] = cpids
  if (first === undefined || others.length === 0) return [...cpids]
  const nodes = cpids.flatMap((cpid) => graph.find(cpid) ?? [])
  const older = ancestorsAmong(graph, nodes, maxEdges)
  return cpids.filter((cpid) => !older.has(cpid))
}

/** The CPIDs in the list from which another one descends. A source never has a higher rank than what it merged into. */
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
