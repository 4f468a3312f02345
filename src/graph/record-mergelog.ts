import type { MergelogRecord } from '../model/arrivals.ts'
import {
  type Cpid,
  type CpidNode,
  type MergeGraph,
  type Mergelog,
  type MergelogOutcome,
  type MergelogRefusal,
  parseCpid,
  type RankedCpid,
} from '../model/merge-graph.ts'
import { newestRoots } from './ancestry.ts'
import { sourcesToKeep } from './worked-out-edges.ts'

export interface RecordMergelog {
  maxFanout: number
  budget?: CycleBudget
  /** About how many CPIDs are explained in the same transaction; some hundreds unless given. */
  explainAtOnce?: number
  /** Called when the CPID has a mergelog already: whether this one replaces it. */
  hasBetterClaim?: (node: CpidNode) => boolean
  /** Mergelogs that were worked out: they lose sources where this one would otherwise close a cycle. */
  workedOut?: {
    isWorkedOut: (node: CpidNode) => boolean
    /** Stores that a worked-out mergelog has only these sources. */
    narrow: (node: CpidNode, arrival: number, sources: readonly Cpid[]) => void
  }
}

/**
 * Adds a mergelog to the merge graph: an edge from each source to the new CPID (paper, section 3.4.2). Arrival order
 * does not matter. Repeating an accepted mergelog changes nothing. When one replaces another, descendants of the CPID get new
 * root lists. Worked-out mergelogs lose the sources that would make it close a cycle.
 */
export function recordMergelog(
  graph: MergeGraph,
  mergelog: Mergelog,
  settings: RecordMergelog,
): MergelogOutcome {
  const { maxFanout, budget = cycleBudget(), explainAtOnce, hasBetterClaim } = settings
  const known = graph.find(mergelog.cpid)
  const stored = known?.hasMergelog === true ? graph.storedSources(known.id) : undefined
  const replaced = stored !== undefined && known !== undefined && hasBetterClaim?.(known) === true
  if (stored !== undefined && !replaced) {
    return sameSources(stored, mergelog.sources)
      ? { kind: 'repeated' }
      : { kind: 'refused', refusal: 'different_sources' }
  }
  let place = findPlace(graph, mergelog, budget)
  // Without those sources there is no cycle, so only the ranks are left to find. It must not end for want of budget: they are dropped already.
  if (place === 'closesCycle' && haveGivenWay(graph, mergelog, settings, budget))
    place = findPlace(graph, mergelog, cycleBudget(Infinity))
  if (place === 'closesCycle') return { kind: 'refused', refusal: 'closes_cycle' }
  if (place === 'tooFar') return { kind: 'refused', refusal: 'cycle_unknown' }

  refillCycleBudget(budget)
  const sources = mergelog.sources.map((source) => graph.findOrAdd(source))
  const node = graph.findOrAdd(mergelog.cpid)
  putInPlace(graph, place, node, sources)
  if (replaced) {
    graph.removeEdgesTo(node.id)
    node.inDegree = 0
    node.unexplainedSources = 0
  }
  for (const source of sources) {
    if (source.pruned) continue
    graph.addEdge(source.id, node.id)
    node.inDegree++
    if (!source.explained) node.unexplainedSources++
  }
  node.hasMergelog = true
  if (node.pruned) graph.revive(node)
  graph.save(node)
  const arrival = graph.announce(node.id, 'mergelog')
  if (node.unexplainedSources === 0 || (replaced && node.explained))
    explain(graph, node, maxFanout, sources, explainAtOnce)
  return { kind: 'new', arrival, replaced }
}

/** Whether worked-out mergelogs have lost the sources that made this one close a cycle. */
function haveGivenWay(
  graph: MergeGraph,
  mergelog: Mergelog,
  { maxFanout, explainAtOnce, workedOut }: RecordMergelog,
  budget: CycleBudget,
): boolean {
  const kept = workedOut && sourcesToKeep(graph, mergelog, workedOut.isWorkedOut, budget)
  if (kept === undefined) return false
  for (const [node, sources] of kept) {
    const narrower = recordMergelog(
      graph,
      { cpid: node.cpid, sources },
      { maxFanout, ...(explainAtOnce !== undefined && { explainAtOnce }), hasBetterClaim: () => true },
    )
    if (narrower.kind === 'new') workedOut?.narrow(node, narrower.arrival, sources)
  }
  return true
}

function sameSources(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((source, i) => source === b[i])
}

/** Checks a mergelog on its own, without the graph: its CPIDs, their number, and that it does not name itself. */
export function checkMergelog(record: MergelogRecord, maxSources: number): Mergelog | MergelogRefusal {
  const cpid = parseCpid(record.newCpid)
  if (cpid === undefined) return 'malformed_cpid'
  const sources = new Set<Cpid>()
  for (const text of record.sources) {
    const source = parseCpid(text)
    if (source === undefined) return 'malformed_cpid'
    // A source that is named twice counts once.
    if (sources.add(source).size > maxSources) return 'too_many_sources'
  }
  if (sources.has(cpid)) return 'names_itself'
  return { cpid, sources: [...sources].sort() }
}

/** What a sender reads when its mergelog is refused. */
export function refusalSentence(refusal: MergelogRefusal, cpid: string, maxSources: number): string {
  const named = JSON.stringify(cpid.slice(0, 64))
  switch (refusal) {
    case 'malformed_cpid':
      return `mergelog ${named}: a CPID in cpid.new or cpid.sources is not a UUID or is all zeros`
    case 'names_itself':
      return `mergelog ${named}: it names itself as a source`
    case 'closes_cycle':
      return `mergelog ${named}: one of its sources descends from it, so it would close a cycle`
    case 'cycle_unknown':
      return `mergelog ${named}: too much descends from it, and too much led to its sources, to rule out a cycle; send the mergelog of a merge before those that build on it`
    case 'different_sources':
      return `mergelog ${named}: this CPID is already known with different sources; generate a new CPID for each merge`
    case 'sender_not_allowed':
      return `mergelog ${named}: you may not send mergelogs for this service and cluster; see connectors::cpid::senders`
    case 'foreign_source':
      return `mergelog ${named}: you may not merge one of its sources, a change of another cluster or service; see connectors::cpid::senders`
    case 'contested':
      return `mergelog ${named}: a mergelog of somebody with a better claim to this CPID took its place`
    case 'repeated_attribute':
      return `mergelog ${named}: an attribute that says whose it is, or what it merges, is there more than once; give service.name, k8s.cluster.name, cpid.new and cpid.sources once each`
    case 'too_many_sources':
      return `mergelog ${named}: more than ${maxSources} sources; raise connectors::cpid::max_sources or merge in steps`
  }
}

const EDGES_A_PAGE = 64

/** How many edges may still be visited for the mergelogs of one request. */
export interface CycleBudget {
  left: number
  /** What accepted mergelogs may still add. */
  toEarn: number
}

const EARNED = 100
const MAX_EARNED = 20

/**
 * Limits what one request may spend on looking for cycles: some ten milliseconds, and more if it has many mergelogs. Mergelogs that
 * arrive in order cost nothing; a thousand in random order cost some thirty edges each.
 */
export function cycleBudget(edges = 5_000): CycleBudget {
  return { left: edges, toEarn: edges * MAX_EARNED }
}

/** An accepted mergelog adds to the budget, since later ones build on it. */
function refillCycleBudget(budget: CycleBudget): void {
  const earned = Math.min(EARNED, budget.toEarn)
  budget.left += earned
  budget.toEarn -= earned
}

/** Where a mergelog's CPIDs go in the order, once its edges are added. */
interface Place {
  /** New ranks of CPIDs that are known, by their number. */
  readonly moves: ReadonlyMap<number, number>
  /** Whether the new CPID has descendants, so that unknown sources must rank below it. */
  readonly hasTargets: boolean
}

const AS_THEY_ARE: ReadonlyMap<number, number> = new Map()

/**
 * Finds out whether a mergelog would close a cycle, and which ranks its CPIDs get (ADR-020). A CPID never ranks below its sources,
 * so only CPIDs with ranks between the new one and its sources matter. The search goes down from the new CPID and up from the
 * sources in turn, until one side is exhausted; that side gets new ranks. If all sources rank lower already, no edge is visited.
 * 'tooFar' when the budget runs out.
 */
export function findPlace(
  graph: MergeGraph,
  { cpid, sources }: Mergelog,
  budget: CycleBudget,
): Place | 'closesCycle' | 'tooFar' {
  const start = graph.find(cpid)
  if (start === undefined) return { moves: AS_THEY_ARE, hasTargets: false }
  const above = new Map<number, number>()
  let areAllKnown = true
  let top = -Infinity
  for (const source of sources) {
    const node = graph.find(source)
    if (node === undefined) areAllKnown = false
    else if (node.rank >= start.rank) {
      above.set(node.id, node.rank)
      top = Math.max(top, node.rank)
    }
  }
  if (above.size === 0 && areAllKnown) return { moves: AS_THEY_ARE, hasTargets: true }

  const down = new Side(new Map([[start.id, start.rank]]), {
    page: (id, after) => graph.rankedTargets(id, after, EDGES_A_PAGE),
    isWithin: (rank) => rank <= top,
    nearer: Math.min,
    farthest: Infinity,
  })
  const up = new Side(above, {
    page: (id, after) => graph.rankedSources(id, after, EDGES_A_PAGE),
    isWithin: (rank) => rank >= start.rank,
    nearer: Math.max,
    farthest: -Infinity,
  })
  const spent = (): number => down.cost + up.cost
  // At least once, to know whether anything descends from it.
  do {
    const [side, other] = down.cost <= up.cost ? [down, up] : [up, down]
    const isMet = side.step(other)
    if (isMet || spent() > budget.left) {
      budget.left -= spent()
      return isMet ? 'closesCycle' : 'tooFar'
    }
  } while (!down.isDone && !up.isDone)
  const hasTargets = !down.isDone || down.found.size > 1 || down.nearestBeyond !== Infinity
  const moves =
    above.size === 0 || !hasTargets
      ? AS_THEY_ARE
      : down.isDone
        ? spread(down.found, top, Math.min(down.nearestBeyond, top + 1))
        : spread(up.found, Math.max(up.nearestBeyond, start.rank - 1), start.rank)
  budget.left -= spent() + moves.size
  return { moves, hasTargets }
}

/** Sets the ranks for a mergelog, before its edges are added. `sources` and `node` are in the graph. */
function putInPlace(
  graph: MergeGraph,
  { moves, hasTargets }: Place,
  node: CpidNode,
  sources: readonly CpidNode[],
): void {
  for (const [id, rank] of moves) graph.setRank(id, rank)
  const rank = moves.get(node.id) ?? node.rank
  let top = -Infinity
  for (const source of sources) {
    const at = moves.get(source.id) ?? source.rank
    if (at <= rank || source.pruned) continue
    // A source that ranks above and was not visited is new to the graph.
    if (hasTargets) graph.setRank(source.id, rank - 1)
    else top = Math.max(top, at)
  }
  // Half a step below the number of the next CPID that is added.
  if (top > rank) graph.setRank(node.id, top + 0.5)
}

/** Spreads CPIDs between two ranks in their present order. Without room between the two they share one rank. */
function spread(ranks: ReadonlyMap<number, number>, low: number, high: number): Map<number, number> {
  const inOrder = [...new Set(ranks.values())].sort((a, b) => a - b)
  const part = (high - low) / (inOrder.length + 1)
  const placed = new Map(inOrder.map((rank, at) => [rank, Math.min(high, low + part * (at + 1))]))
  return new Map(Array.from(ranks, ([id, rank]) => [id, placed.get(rank) ?? low]))
}

interface Direction {
  /** Edges of a CPID to others with numbers above `after`, by number. */
  page: (id: number, after: number) => RankedCpid[]
  isWithin: (rank: number) => boolean
  /** Which of two ranks outside is nearer. */
  nearer: (a: number, b: number) => number
  farthest: number
}

/** One of the two directions of the search. */
class Side {
  /** Visited edges, and CPIDs whose edges were visited. */
  cost = 0
  /** The CPIDs found within the bounds, and their ranks. */
  readonly found: Map<number, number>
  /** The nearest rank outside the bounds. */
  nearestBeyond: number
  readonly #direction: Direction
  readonly #waiting: number[]
  /** The CPID whose edges are being visited, and the last visited edge. */
  #at: number | undefined
  #after = 0

  constructor(found: Map<number, number>, direction: Direction) {
    this.found = found
    this.nearestBeyond = direction.farthest
    this.#direction = direction
    this.#waiting = [...found.keys()]
  }

  get isDone(): boolean {
    return this.#at === undefined && this.#waiting.length === 0
  }

  /** Visits one page of edges; true when it meets a CPID that the other side has found. */
  step(other: Side): boolean {
    const id = this.#at ?? this.#waiting.pop()
    if (id === undefined) return false
    const page = this.#direction.page(id, this.#after)
    const last = page.length === EDGES_A_PAGE ? page.at(-1)?.id : undefined
    this.#at = last === undefined ? undefined : id
    this.#after = last ?? 0
    this.cost += page.length + 1
    for (const { id: next, rank } of page) {
      if (other.found.has(next)) return true
      if (this.found.has(next)) continue
      if (this.#direction.isWithin(rank)) {
        this.found.set(next, rank)
        this.#waiting.push(next)
      } else this.nearestBeyond = this.#direction.nearer(this.nearestBeyond, rank)
    }
    return false
  }
}

/** CPIDs and edges per transaction; `explainMore` does the rest. */
const AT_ONCE = 500
/** So many sources of a CPID cost what one CPID does. */
const SOURCES_A_STEP = 16
const TARGETS_A_PAGE = 100
/** The CPID itself has yet to get its root list. */
const NOT_YET = -1

/**
 * Marks a CPID explained, sets its root list, and does the same for every descendant that waited only for it or was explained before,
 * as far as `atOnce` goes. `sources` are those that its mergelog names, including tombstones. Returns what it cost, in CPIDs and edges.
 */
export function explain(
  graph: MergeGraph,
  first: CpidNode,
  maxFanout: number,
  sources: readonly CpidNode[],
  atOnce = AT_ONCE,
): number {
  const explaining = new ExplanationPropagation(graph, maxFanout, atOnce)
  explaining.mark(first, sources)
  explaining.run()
  return explaining.done
}

/** Continues postponed explanations, over about `work` CPIDs and edges; returns how many there were, 0 when none is left. */
export function explainMore(graph: MergeGraph, maxFanout: number, work: number): number {
  const explaining = new ExplanationPropagation(graph, maxFanout, work)
  for (
    let next = graph.nextPostponedExplanation();
    next !== undefined;
    next = graph.nextPostponedExplanation()
  ) {
    if (explaining.isOver) break
    explaining.resume(next.id, next.after)
  }
  return explaining.done
}

/** An explained CPID whose targets are being updated, and the last target that was. */
interface Propagation {
  id: number
  after: number
  /** It was postponed: edges were added meanwhile, so its targets must count their unexplained sources again. */
  isLate: boolean
}

class ExplanationPropagation {
  done = 0
  readonly #graph: MergeGraph
  readonly #maxFanout: number
  readonly #work: number
  readonly #ready: number[] = []
  #current: Propagation | undefined

  constructor(graph: MergeGraph, maxFanout: number, work: number) {
    this.#graph = graph
    this.#maxFanout = maxFanout
    this.#work = work
  }

  get isOver(): boolean {
    return this.done >= this.#work
  }

  /** Continues until all targets are updated or the work is spent; the rest is postponed. */
  run(): void {
    for (;;) {
      if (this.#current === undefined) {
        const id = this.#ready.pop()
        if (id === undefined) return
        const node = this.#graph.node(id)
        const wasExplained = node.explained
        this.mark(node, namedSources(this.#graph, node.id))
        if (!wasExplained) this.#graph.announce(node.id, 'explained')
      }
      while (this.#current !== undefined) {
        // At least one page, so that every turn makes progress.
        this.#updateTargets(this.#current)
        if (this.isOver) break
      }
      if (!this.isOver) continue
      if (this.#current !== undefined) this.#graph.postponeExplanation(this.#current.id, this.#current.after)
      this.#current = undefined
      for (const id of this.#ready.splice(0)) this.#graph.postponeExplanation(id, NOT_YET)
      return
    }
  }

  /** Sets the root list of a CPID. If it was explained with another one before, explained targets get new lists too. */
  mark(node: CpidNode, sources: readonly CpidNode[]): void {
    const { explained: wasExplained, roots: before } = node
    node.explained = true
    node.roots = sources.length === 0 ? [node.id] : newestRoots(sources.map(rootsOf), this.#maxFanout)
    this.#graph.save(node)
    this.done += explanationCost(node)
    // Targets must not count it as explained a second time.
    if (!wasExplained || node.roots.join() !== before?.join())
      this.#current = { id: node.id, after: 0, isLate: wasExplained }
  }

  /** Resumes a postponed one. */
  resume(id: number, after: number): void {
    this.#graph.forgetPostponedExplanation(id)
    this.done++
    const node = this.#graph.maybeNode(id)
    if (node === undefined || node.pruned) return
    if (after !== NOT_YET) this.#current = { id, after, isLate: true }
    else if (node.explained) {
      this.mark(node, namedSources(this.#graph, id))
      // An earlier update of its targets may have been postponed too, in the row that this one replaced.
      this.#current = { id, after: 0, isLate: true }
    } else if (node.hasMergelog && node.unexplainedSources === 0) this.#ready.push(id)
    this.run()
  }

  #updateTargets(propagation: Propagation): void {
    const limit = Math.max(1, Math.min(TARGETS_A_PAGE, this.#work - this.done))
    const targets = this.#graph.targetsAfter(propagation.id, propagation.after, limit)
    for (const target of targets) {
      const descendant = this.#graph.node(target)
      if (propagation.isLate) {
        descendant.unexplainedSources = this.#graph.countUnexplained(target)
        this.done += explanationCost(descendant)
      } else descendant.unexplainedSources--
      this.#graph.save(descendant)
      if (descendant.hasMergelog && (descendant.explained || descendant.unexplainedSources === 0))
        this.#ready.push(target)
    }
    this.done += targets.length
    propagation.after = targets.at(-1) ?? propagation.after
    if (targets.length < limit) this.#current = undefined
  }
}

/** What it costs to explain a CPID: all its sources are looked at. */
function explanationCost({ inDegree }: CpidNode): number {
  return 1 + Math.floor(inDegree / SOURCES_A_STEP)
}

function namedSources(graph: MergeGraph, id: number): CpidNode[] {
  return (graph.storedSources(id) ?? []).flatMap((source) => graph.find(source) ?? [])
}

/** A tombstone counts as a settled root. */
function rootsOf(node: CpidNode): number[] {
  return node.roots ?? [node.id]
}
