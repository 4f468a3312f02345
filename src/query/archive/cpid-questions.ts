import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import type { CpidFacts, GraphNode, MergelogFacts } from '../../model/queries.ts'
import type { PageRequest } from '../question.ts'
import { ArchiveSilent } from './archive-client.ts'
import {
  type AskingParts,
  BadCursor,
  type FleetAnswer,
  NOTHING_HERE,
  withArchiveOrWithout,
  partialOf,
} from './asking-parts.ts'
import { type KnownCpid, KnownCpids } from './known-cpids.ts'
import { walk, type Walked } from './walks.ts'

interface FleetCpids extends FleetAnswer {
  readonly cpids: readonly Cpid[]
  /** What the archive has of a CPID. */
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

/** Questions of a CPID and of the merge graph around it, to an archive and this database as one graph (docs/adr/042). */
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

  /** The mergelogs of what is related to a CPID, in the order of `related`. Throws BadCursor. */
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

  /** What is known of CPIDs, with their sources. */
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

/** Of what is not here only the archive may know. Throws ArchiveSilent. */
function absent(state: 'unknown' | 'pruned', partial: string | undefined): 'unknown' | 'pruned' {
  if (partial === undefined) return state
  throw new ArchiveSilent(`nothing is known of this CPID here, and ${partial}`)
}

function inOrder({ walked, known }: { walked: Walked; known: KnownCpids }): Cpid[][] {
  return walked.levels.map((level) => level.toSorted(known.inOrder))
}

/** Of what is above and below the nearest, each with its distance, negative above. */
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
