import type { ArchivedEdge, Unarchived } from '../../model/archive.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import type { CpidFacts, GraphNode, MergelogFacts } from '../../model/queries.ts'
import type { PageRequest } from '../question.ts'
import { type ArchiveClient, ArchiveSilent, quote } from './archive-client.ts'
import {
  type AskingParts,
  BadCursor,
  type FleetAnswer,
  NOTHING_HERE,
  withArchiveOrWithout,
  partialOf,
} from './asking-parts.ts'
import { type KnownCpid, KnownCpids } from './known-cpids.ts'
import { cpid } from './row-columns.ts'

interface FleetCpids extends FleetAnswer {
  readonly cpids: readonly Cpid[]
  /** The facts of a CPID in the archive. */
  readonly described: (cpid: Cpid) => KnownCpid | undefined
}

interface FleetCpid extends FleetAnswer {
  readonly facts: CpidFacts
}

interface FleetMergelogs extends FleetAnswer {
  readonly mergelogs: readonly Omit<MergelogFacts, 'position'>[]
  readonly next: string | undefined
}

interface FleetGraph extends FleetAnswer {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly { readonly source: Cpid; readonly target: Cpid }[]
  readonly truncated: boolean
}

type Direction = 'above' | 'below'

const TOO_MANY = 'there are too many to answer at once: those that were found first'

/** Answers questions about a CPID and the merge graph around it; archive and database count as one graph (docs/adr/042). */
export class CpidQuestions {
  readonly #parts: AskingParts

  constructor(parts: AskingParts) {
    this.#parts = parts
  }

  async related(cpid: Cpid): Promise<FleetCpids | 'unknown' | 'pruned'> {
    return await this.#listed('below', cpid, ({ levels }, known) => {
      const [, ...others] = levels.flat()
      return [cpid, ...others.sort(known.inOrder)]
    })
  }

  async ancestors(cpid: Cpid): Promise<FleetCpids | 'unknown' | 'pruned'> {
    return await this.#listed('above', cpid, ({ levels }, known) =>
      levels.slice(1).flatMap((level) => level.toSorted(known.inOrder)),
    )
  }

  async roots(cpid: Cpid): Promise<FleetCpids | 'unknown' | 'pruned'> {
    return await this.#listed('above', cpid, ({ levels, ends }, known) =>
      levels.flatMap((level) => level.toSorted(known.inOrder)).filter((one) => ends.has(one)),
    )
  }

  async facts(cpid: Cpid): Promise<FleetCpid | 'unknown' | 'pruned'> {
    const { known, partial } = await this.#known([cpid])
    const state = known.stateOf(cpid)
    if (state !== 'known') return absent(state, partial)
    return { facts: { ...known.of(cpid), sources: known.sourcesOf(cpid) }, ...partialOf(partial) }
  }

  /** The mergelogs of all CPIDs related to a CPID, in the order of `related`. Throws BadCursor. */
  async mergelogs(
    cpid: Cpid,
    { limit = Infinity, after }: PageRequest,
  ): Promise<FleetMergelogs | 'unknown' | 'pruned'> {
    const related = await this.related(cpid)
    if (typeof related === 'string') return related
    const last = after === undefined ? undefined : parseCpid(after)
    const from = last === undefined ? 0 : related.cpids.indexOf(last) + 1
    if (after !== undefined && from === 0) throw new BadCursor()
    const cpids = related.cpids.slice(from)
    const { known, partial } = await this.#known(cpids)
    const mergelogs: Omit<MergelogFacts, 'position'>[] = []
    for (const one of cpids) {
      const [facts, sources] = [known.of(one), known.sourcesOf(one)]
      if (facts.timeNs === undefined || sources === undefined) continue
      mergelogs.push({ ...facts, timeNs: facts.timeNs, sources })
      if (mergelogs.length > limit) break
    }
    const shown = mergelogs.slice(0, limit)
    const next = mergelogs.length > shown.length ? shown.at(-1)?.cpid : undefined
    return { mergelogs: shown, next, ...partialOf(related.partial ?? partial) }
  }

  async graph(cpid: Cpid, limit: number): Promise<FleetGraph | 'unknown' | 'pruned'> {
    const above = await this.#walked('above', cpid)
    const below = await this.#walked('below', cpid)
    const { distances, truncated } = nearest(inOrder(above), inOrder(below), limit)
    const cpids = [...distances.keys()]
    const { known, partial } = await this.#known(cpids)
    const state = known.stateOf(cpid)
    if (state !== 'known' && cpids.length === 1) return absent(state, partial)
    const edges = cpids.flatMap((target) =>
      (known.sourcesOf(target) ?? []).flatMap((source) =>
        distances.has(source) ? [{ source, target }] : [],
      ),
    )
    const { queries } = this.#parts
    const nodes = cpids.map((one): GraphNode => {
      const around = queries?.graph(one, 1)
      const [here] = around === undefined || typeof around === 'string' ? [] : around.nodes
      const root = (known.sourcesOf(one)?.length ?? 0) === 0
      return { ...known.of(one), root, distance: distances.get(one) ?? 0, supersededBy: here?.supersededBy }
    })
    const isCut = truncated || above.walked.isCut || below.walked.isCut
    return { nodes, edges, truncated: isCut, ...partialOf(partial) }
  }

  async #listed(
    direction: Direction,
    cpid: Cpid,
    toList: (walked: Walked, known: KnownCpids) => Cpid[],
  ): Promise<FleetCpids | 'unknown' | 'pruned'> {
    const { walked, known, partial } = await this.#walked(direction, cpid)
    const state = known.stateOf(cpid)
    if (state !== 'known' && walked.levels.length === 1) return absent(state, partial)
    const described = (of: Cpid): KnownCpid | undefined => known.archived(of)
    return {
      ...{ cpids: toList(walked, known), described },
      ...partialOf(partial, walked.isCut ? TOO_MANY : undefined),
    }
  }

  async #walked(
    direction: Direction,
    cpid: Cpid,
  ): Promise<{ walked: Walked; known: KnownCpids; partial?: string }> {
    const { archive, queries, unarchived = NOTHING_HERE } = this.#parts
    const { value, ...rest } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => {
        const walked = await walk(archive, unarchived, direction, cpid, deadline)
        const known = new KnownCpids(unarchived, queries)
        await known.ask(archive, walked.levels.flat(), deadline)
        return { value: { walked, known } }
      },
      async () => {
        const walked = await walk(undefined, unarchived, direction, cpid, undefined)
        return { value: { walked, known: new KnownCpids(unarchived, queries) } }
      },
    )
    return { ...value, ...rest }
  }

  /** The facts of CPIDs, with their sources. */
  async #known(cpids: readonly Cpid[]): Promise<{ known: KnownCpids; partial?: string }> {
    const { archive, queries, unarchived = NOTHING_HERE } = this.#parts
    const { value, ...rest } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => {
        const known = new KnownCpids(unarchived, queries)
        await known.ask(archive, cpids, deadline)
        await known.askSources(archive, cpids, deadline)
        return { value: known }
      },
      () => ({ value: new KnownCpids(unarchived, queries) }),
    )
    return { known: value, ...rest }
  }
}

/** If the archive did not answer, it may know a CPID that this database lacks: throws ArchiveSilent. */
function absent(state: 'unknown' | 'pruned', partial: string | undefined): 'unknown' | 'pruned' {
  if (partial === undefined) return state
  throw new ArchiveSilent(`nothing is known of this CPID here, and ${partial}`)
}

function inOrder({ walked, known }: { walked: Walked; known: KnownCpids }): Cpid[][] {
  return walked.levels.map((level) => level.toSorted(known.inOrder))
}

/** The CPIDs nearest to a CPID, each with its distance; negative for ancestors. */
function nearest(
  above: readonly Cpid[][],
  below: readonly Cpid[][],
  limit: number,
): { distances: ReadonlyMap<Cpid, number>; truncated: boolean } {
  const distances = new Map<Cpid, number>()
  const levels = Math.max(above.length, below.length)
  for (let step = 0; step < levels; step++)
    for (const [level, distance] of [
      [above[step], -step],
      [below[step], step],
    ] as const)
      for (const cpid of level ?? []) {
        if (distances.has(cpid)) continue
        if (distances.size >= limit) return { distances, truncated: true }
        distances.set(cpid, distance === 0 ? 0 : distance)
      }
  return { distances, truncated: false }
}

/** The most edges of an answer, since it is held in memory. */
const MOST_EDGES = 200_000
const EDGE = { source: cpid, cpid }

/** The result of a walk. */
interface Walked {
  /** By distance from the start, in the order in which they were found. */
  readonly levels: readonly (readonly Cpid[])[]
  /** CPIDs without further edges. */
  readonly ends: ReadonlySet<Cpid>
  readonly isCut: boolean
}

/**
 * Walks the combined graph of the archive and this database. Queries each in turn for all CPIDs reached so far, until neither finds a new
 * one. Throws ArchiveSilent.
 */
async function walk(
  archive: ArchiveClient | undefined,
  local: Unarchived,
  direction: Direction,
  from: Cpid,
  deadline: AbortSignal | undefined,
): Promise<Walked> {
  const edges = new EdgeSet(direction)
  const asked = { archive: new Set<Cpid>(), local: new Set<Cpid>() }
  const cut = { is: false }
  const take = (of: 'archive' | 'local', found: readonly ArchivedEdge[], from: readonly Cpid[]): void => {
    cut.is ||= found.length >= MOST_EDGES
    for (const one of from) asked[of].add(one)
    for (const edge of found) {
      edges.add(edge)
      asked[of].add(edge.source)
      asked[of].add(edge.cpid)
    }
  }
  const unasked = (of: 'archive' | 'local'): Cpid[] =>
    [from, ...edges.ends()].filter((end) => !asked[of].has(end))
  for (let more = true; more && !cut.is;) {
    more = false
    const ours = unasked('local')
    if (ours.length > 0) {
      take('local', local.edges(direction, ours, MOST_EDGES), ours)
      more = true
    }
    const theirs = archive === undefined ? [] : unasked('archive')
    if (archive !== undefined && deadline !== undefined && theirs.length > 0) {
      const found = await archive.rows(EDGE, statementOf(archive, direction, theirs), deadline)
      take('archive', withoutReplaced(found, local), theirs)
      more = true
    }
  }
  return { ...edges.levels(from), isCut: cut.is }
}

/** Leaves out edges of mergelogs that were replaced here, which the archive may not know yet. */
function withoutReplaced(edges: readonly ArchivedEdge[], local: Unarchived): ArchivedEdge[] {
  const sources = new Map<Cpid, ReadonlySet<Cpid> | undefined>()
  return edges.filter(({ source, cpid }) => {
    if (!sources.has(cpid)) {
      const here = local.sourcesOf(cpid)
      sources.set(cpid, here && new Set(here))
    }
    return sources.get(cpid)?.has(source) !== false
  })
}

function statementOf(archive: ArchiveClient, direction: Direction, from: readonly Cpid[]): string {
  const [table, key, next] =
    direction === 'below'
      ? (['edges', 'source', 'cpid'] as const)
      : (['edges_by_cpid', 'cpid', 'source'] as const)
  const edges = archive.name(table)
  return `WITH RECURSIVE reached AS (
    SELECT toUUID(arrayJoin(splitByChar(',', ${quote(from.join(','))}))) AS at
    UNION ALL
    SELECT DISTINCT s.${next} AS at FROM ${edges} AS s FINAL PREWHERE s.${key} GLOBAL IN (SELECT at FROM reached)
  )
  SELECT toString(e.source) AS source, toString(e.cpid) AS cpid FROM ${edges} AS e FINAL
  PREWHERE e.${key} GLOBAL IN (SELECT at FROM reached) LIMIT ${MOST_EDGES}`
}

class EdgeSet {
  readonly #isBelow: boolean
  readonly #next = new Map<Cpid, Set<Cpid>>()
  readonly #reached = new Set<Cpid>()

  constructor(direction: Direction) {
    this.#isBelow = direction === 'below'
  }

  add({ source, cpid }: ArchivedEdge): void {
    const [from, to] = this.#isBelow ? [source, cpid] : [cpid, source]
    const known = this.#next.get(from)
    if (known === undefined) this.#next.set(from, new Set([to]))
    else known.add(to)
    this.#reached.add(to)
  }

  /** All CPIDs that edges lead to. */
  ends(): ReadonlySet<Cpid> {
    return this.#reached
  }

  /** What is reached from one CPID, by the number of steps. */
  levels(from: Cpid): { levels: Cpid[][]; ends: Set<Cpid> } {
    const seen = new Set([from])
    const levels = [[from]]
    const ends = new Set<Cpid>()
    for (let level = [from]; level.length > 0;) {
      const next: Cpid[] = []
      for (const cpid of level) {
        const beyond = this.#next.get(cpid)
        if (beyond === undefined) ends.add(cpid)
        for (const one of beyond ?? []) {
          if (seen.has(one)) continue
          seen.add(one)
          next.push(one)
        }
      }
      if (next.length > 0) levels.push(next)
      level = next
    }
    return { levels, ends }
  }
}
