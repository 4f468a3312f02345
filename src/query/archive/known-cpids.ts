import type { Unarchived } from '../../model/archive.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import type { CausewayQueries, GraphNode } from '../../model/queries.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { amongCpids, type ArchiveClient, referenceIn, textOf } from './archive-client.ts'
import { count, cpid, flag, integerIfAny, listOf, textIfAny } from './row-columns.ts'

/** The facts of a CPID, from the archive or this database. */
export interface KnownCpid extends Pick<
  GraphNode,
  'cpid' | 'timeNs' | 'service' | 'object' | 'reason' | 'cluster' | 'explained'
> {
  readonly firstSeenMs: number
}

const CPID = { cpid, merged: integerIfAny, seen: count, explained: flag, facts: listOf(textIfAny) }
const SOURCES = { cpid, sources: listOf(cpid) }

/** What the archive and this database know of CPIDs. If both know a CPID, this database has the newer facts. */
export class KnownCpids {
  readonly #local: Unarchived
  readonly #queries: CausewayQueries | undefined
  readonly #archived = new Map<Cpid, KnownCpid>()
  readonly #sources = new Map<Cpid, readonly Cpid[]>()
  readonly #moments = new Map<Cpid, bigint>()

  constructor(local: Unarchived, queries: CausewayQueries | undefined) {
    this.#local = local
    this.#queries = queries
  }

  /** Reads the facts of CPIDs from the archive. Throws ArchiveSilent. */
  async ask(archive: ArchiveClient, cpids: readonly Cpid[], deadline: AbortSignal): Promise<void> {
    if (cpids.length === 0) return
    const rows = await archive.rows(
      CPID,
      `SELECT toString(s.cpid) AS cpid, toString(toUnixTimestamp64Nano(max(s.merged_at))) AS merged,
         toString(toUnixTimestamp64Milli(min(s.first_seen))) AS seen, maxIf(s.explained = 'yes', s.state = 'live') AS explained,
         argMax(tuple(${textOf('s.service')}, ${textOf('s.cluster')}, ${referenceIn('mergelog')},
           ifNull(s.reason, '')), tuple(s.kind != 'unknown', s.version)) AS facts
       FROM ${archive.name('cpids')} AS s FINAL PREWHERE s.cpid GLOBAL IN (${amongCpids(cpids)}) GROUP BY s.cpid`,
      deadline,
    )
    for (const { cpid, merged, seen, explained, facts } of rows) {
      const [service, cluster, object, reason] = facts
      const known = { cpid, service, cluster, object, reason, explained }
      this.#archived.set(cpid, { ...known, timeNs: merged, firstSeenMs: seen })
    }
  }

  /** Reads the sources of CPIDs from the archive. Throws ArchiveSilent. */
  async askSources(archive: ArchiveClient, cpids: readonly Cpid[], deadline: AbortSignal): Promise<void> {
    if (cpids.length === 0) return
    const rows = await archive.rows(
      SOURCES,
      `SELECT toString(s.cpid) AS cpid, arrayMap(source -> toString(source), s.sources) AS sources
       FROM ${archive.name('mergelogs')} AS s FINAL PREWHERE s.cpid GLOBAL IN (${amongCpids(cpids)})`,
      deadline,
    )
    for (const { cpid, sources } of rows) this.#sources.set(cpid, sources)
  }

  archived(cpid: Cpid): KnownCpid | undefined {
    return this.#archived.get(cpid)
  }

  of(cpid: Cpid): KnownCpid {
    const there = this.#archived.get(cpid)
    const around = this.#queries?.graph(cpid, 1)
    const [here] = around === undefined || typeof around === 'string' ? [] : around.nodes
    const explained = here?.explained === true || there?.explained === true
    const facts = here?.timeNs === undefined ? (there ?? here) : here
    const nothing = {
      timeNs: undefined,
      service: undefined,
      object: undefined,
      reason: undefined,
      cluster: undefined,
    }
    return { ...nothing, ...facts, cpid, explained, firstSeenMs: there?.firstSeenMs ?? 0 }
  }

  /** The sources in the mergelog of a CPID; undefined without a mergelog. */
  sourcesOf(cpid: Cpid): readonly Cpid[] | undefined {
    return this.#local.sourcesOf(cpid) ?? this.#sources.get(cpid)
  }

  stateOf(cpid: Cpid): 'known' | 'unknown' | 'pruned' {
    if (this.#archived.has(cpid)) return 'known'
    const here = this.#local.momentOf(cpid)
    if (here === undefined) return 'unknown'
    return here.isPruned ? 'pruned' : 'known'
  }

  /** Compares by mergelog time, or first sight without a mergelog. */
  readonly inOrder = (a: Cpid, b: Cpid): number => {
    const [one, other] = [this.#momentOf(a), this.#momentOf(b)]
    if (one !== other) return one < other ? -1 : 1
    return a < b ? -1 : Number(a > b)
  }

  #momentOf(cpid: Cpid): UnixNanos {
    let moment = this.#moments.get(cpid)
    if (moment === undefined) this.#moments.set(cpid, (moment = this.#readMoment(cpid)))
    return moment
  }

  #readMoment(cpid: Cpid): UnixNanos {
    const here = this.#local.momentOf(cpid)
    const there = this.#archived.get(cpid)
    const timeNs = here?.timeNs ?? there?.timeNs
    if (timeNs !== undefined) return timeNs
    const seen = [here?.firstSeenMs, there?.firstSeenMs].filter((ms) => ms !== undefined)
    return BigInt(seen.length === 0 ? 0 : Math.min(...seen)) * 1_000_000n
  }
}
