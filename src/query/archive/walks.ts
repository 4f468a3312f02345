import type { ArchivedEdge, Unarchived } from '../../model/archive.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { type ArchiveClient, quote } from './archive-client.ts'
import { cpid } from './row-columns.ts'

/** The most edges of an answer, since it is held in memory. */
const MOST_EDGES = 200_000
const EDGE = { source: cpid, cpid }

/** The result of a walk. */
export interface Walked {
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
export async function walk(
  archive: ArchiveClient | undefined,
  local: Unarchived,
  direction: 'above' | 'below',
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

function statementOf(archive: ArchiveClient, direction: 'above' | 'below', from: readonly Cpid[]): string {
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

  constructor(direction: 'above' | 'below') {
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
