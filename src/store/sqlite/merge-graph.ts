import type { ChangeReporter, Mergelogs, StoredMergelog } from '../../model/linking-ports.ts'
import {
  type Cpid,
  cpidBytes,
  type CpidNode,
  cpidOfBytes,
  type ForgottenTombstones,
  type GraphEventKind,
  type GraphWatcher,
  type MergeGraph,
  type RankedCpid,
} from '../../model/merge-graph.ts'
import { GenerationCache } from './generation-cache.ts'
import { OnConnection } from './open-database.ts'
import { WriterTable } from './transactions.ts'

const EVENT_KINDS: Record<GraphEventKind, number> = { mergelog: 0, explained: 1 }

interface CpidRow {
  id: number
  uuid: Buffer
  state: number
  has_mergelog: number
  explained: number
  unexplained_sources: number
  in_degree: number
  roots: string | null
  missing_since_ms: number
  next_episode: number
  rank: number | null
  claim: Buffer | null
}

export class SqliteMergeGraph extends WriterTable implements MergeGraph {
  readonly #cache = new CpidCache()
  readonly #byText = this.db.prepare<[Cpid], CpidRow>(`SELECT ${COLUMNS} FROM cpids WHERE text = +?`)
  readonly #byId = this.db.prepare<[number], CpidRow>(`SELECT ${COLUMNS} FROM cpids WHERE id = ?`)
  readonly #insert = this.db.prepare(
    'INSERT INTO cpids (uuid, first_seen_ms, missing_since_ms, prune_ns) VALUES (?, ?, ?, CAST(? AS INTEGER) * 1000000)',
  )
  readonly #update = this.db.prepare(
    `UPDATE cpids SET state = ?, has_mergelog = ?, explained = ?, unexplained_sources = ?, in_degree = ?,
         roots = ?, next_episode = ? WHERE id = ?`,
  )
  readonly #revive = this.db.prepare('UPDATE cpids SET prune_ns = CAST(? AS INTEGER) * 1000000 WHERE id = ?')
  readonly #sources = this.column<[number], number>('SELECT source FROM edges WHERE target = ?')
  readonly #targetsAfter = this.column<[number, number, number], number>(
    'SELECT target FROM edges WHERE source = ? AND target > ? ORDER BY target LIMIT ?',
  )
  readonly #sourcesAfter = this.column<[number, number, number], number>(
    'SELECT source FROM edges WHERE target = ? AND source > ? ORDER BY source LIMIT ?',
  )
  readonly #storedRank = this.column<[number], number | null>('SELECT rank FROM cpids WHERE id = ?')
  readonly #place = this.db.prepare<[number, number]>('UPDATE cpids SET rank = ? WHERE id = ?')
  readonly #countUnexplained = this.column<[number], number>(
    'SELECT count(*) FROM edges e CROSS JOIN cpids c ON c.id = e.source WHERE e.target = ? AND c.explained = 0',
  )
  readonly #explainLater = this.db.prepare<[number, number]>(
    'INSERT OR REPLACE INTO explain_later (cpid, after) VALUES (?, ?)',
  )
  readonly #isExplainedLater = this.column<[number], number>('SELECT 1 FROM explain_later WHERE cpid = ?')
  readonly #nextToExplain = this.db.prepare<[], { id: number; after: number }>(
    'SELECT cpid AS id, after FROM explain_later LIMIT 1',
  )
  readonly #explainedNow = this.db.prepare<[number]>('DELETE FROM explain_later WHERE cpid = ?')
  readonly #addEdge = this.db.prepare('INSERT OR IGNORE INTO edges (source, target) VALUES (?, ?)')
  readonly #removeEdges = this.db.prepare('DELETE FROM edges WHERE target = ?')
  readonly #claim = this.db.prepare('UPDATE cpids SET claim = ? WHERE id = ?')
  readonly #watchers: GraphWatcher[] = []
  #mayHaveMore = true
  readonly #stored = this.column<[number], Buffer>('SELECT sources FROM mergelogs WHERE cpid = ?')
  readonly #announce = this.db.prepare('INSERT INTO graph_events (arrival, cpid, kind) VALUES (?, ?, ?)')

  get forgotten(): ForgottenTombstones {
    return this.progress.forgotten
  }

  find(cpid: Cpid): CpidNode | undefined {
    const cached = this.#cache.byCpid(cpid)
    if (cached !== undefined) return cached
    const row = this.#byText.get(cpid)
    return row === undefined ? undefined : this.#cache.add(this.#nodeOf(row))
  }

  findOrAdd(cpid: Cpid): CpidNode {
    const known = this.find(cpid)
    if (known !== undefined) return known
    const { wallMs, activeMs } = this.progress
    const { lastInsertRowid } = this.#insert.run(cpidBytes(cpid), wallMs, activeMs, wallMs)
    this.progress.liveCpids++
    const id = Number(lastInsertRowid)
    return this.#cache.add({
      id,
      cpid,
      rank: id,
      pruned: false,
      hasMergelog: false,
      explained: false,
      unexplainedSources: 0,
      inDegree: 0,
      roots: undefined,
      missingSinceMs: activeMs,
      nextEpisode: 0,
      claim: undefined,
    })
  }

  /** Throws if the CPID is unknown, or its tombstone was removed. */
  node(id: number): CpidNode {
    const node = this.maybeNode(id)
    if (node === undefined) throw new Error(`no CPID has the number ${id}`)
    return node
  }

  maybeNode(id: number): CpidNode | undefined {
    const cached = this.#cache.byId(id)
    if (cached !== undefined) return cached
    const row = this.#byId.get(id)
    return row === undefined ? undefined : this.#cache.add(this.#nodeOf(row))
  }

  save(node: CpidNode): void {
    this.#cache.add(node)
    for (const watcher of this.#watchers) watcher.changed(node.id)
    this.#update.run(
      node.pruned ? 1 : 0,
      node.hasMergelog ? 1 : 0,
      node.explained ? 1 : 0,
      node.unexplainedSources,
      node.inDegree,
      node.roots === undefined ? null : JSON.stringify(node.roots),
      node.nextEpisode,
      node.id,
    )
  }

  revive(node: CpidNode): void {
    node.pruned = false
    this.progress.liveCpids++
    this.progress.tombstones--
    this.#revive.run(this.progress.wallMs, node.id)
    this.save(node)
  }

  sourcesOf(id: number): number[] {
    return this.#sources.all(id)
  }

  targetsAfter(id: number, after: number, limit: number): number[] {
    return this.#targetsAfter.all(id, after, limit)
  }

  rankedSources(id: number, after: number, limit: number): RankedCpid[] {
    return this.#sourcesAfter.all(id, after, limit).flatMap(this.#ranked)
  }

  rankedTargets(id: number, after: number, limit: number): RankedCpid[] {
    return this.targetsAfter(id, after, limit).flatMap(this.#ranked)
  }

  setRank(id: number, rank: number): void {
    const cached = this.#cache.byId(id)
    if (cached !== undefined) cached.rank = rank
    this.#place.run(rank, id)
  }

  countUnexplained(id: number): number {
    return this.#countUnexplained.get(id) ?? 0
  }

  postponeExplanation(id: number, after: number): void {
    this.#explainLater.run(id, after)
    this.#mayHaveMore = true
  }

  isExplanationPostponed(id: number): boolean {
    return this.#mayHaveMore && this.#isExplainedLater.get(id) === 1
  }

  nextPostponedExplanation(): { id: number; after: number } | undefined {
    const next = this.#mayHaveMore ? this.#nextToExplain.get() : undefined
    this.#mayHaveMore = next !== undefined
    return next
  }

  forgetPostponedExplanation(id: number): void {
    this.#explainedNow.run(id)
  }

  /** Whether there may be CPIDs left to explain. */
  get hasMoreToExplain(): boolean {
    return this.#mayHaveMore
  }

  addEdge(source: number, target: number): void {
    this.#addEdge.run(source, target)
  }

  removeEdgesTo(target: number): void {
    this.#removeEdges.run(target)
  }

  claim(node: CpidNode, claim: Buffer): void {
    node.claim = claim
    this.#claim.run(claim, node.id)
  }

  storedSources(id: number): Cpid[] | undefined {
    const blob = this.#stored.get(id)
    return blob === undefined ? undefined : cpidsOf(blob)
  }

  announce(id: number, kind: GraphEventKind): number {
    const arrival = this.progress.nextArrival()
    this.#announce.run(arrival, id, EVENT_KINDS[kind])
    return arrival
  }

  watch(watcher: GraphWatcher): void {
    this.#watchers.push(watcher)
  }

  /** Drops a CPID from the cache: its tombstone was removed. */
  drop(id: number, cpid: Cpid): void {
    this.#cache.drop(id, cpid)
  }

  /** Drops the cache after a rollback, or if another process wrote. */
  forget(): void {
    this.#cache.clear()
    for (const watcher of this.#watchers) watcher.forget()
    this.#mayHaveMore = true
  }

  /** Most CPIDs of a search are cached with their rank, which is far faster than a join. */
  readonly #ranked = (id: number): readonly RankedCpid[] => {
    const known = this.#cache.byId(id)?.rank
    if (known !== undefined) return [{ id, rank: known }]
    const stored = this.#storedRank.get(id)
    return stored === undefined ? [] : [{ id, rank: this.#rankOf(id, stored) }]
  }

  /** CPIDs from before ranks existed share one rank until they are moved. */
  #rankOf(id: number, rank: number | null): number {
    return rank ?? Math.max(id, this.progress.unrankedCpids)
  }

  #nodeOf(row: CpidRow): CpidNode {
    return {
      id: row.id,
      cpid: cpidOfBytes(row.uuid),
      rank: this.#rankOf(row.id, row.rank),
      pruned: row.state === 1,
      hasMergelog: row.has_mergelog === 1,
      explained: row.explained === 1,
      unexplainedSources: row.unexplained_sources,
      inDegree: row.in_degree,
      roots: row.roots === null ? undefined : (JSON.parse(row.roots) as number[]),
      missingSinceMs: row.missing_since_ms,
      nextEpisode: row.next_episode,
      claim: row.claim ?? undefined,
    }
  }
}

const COLUMNS = `id, uuid, state, has_mergelog, explained, unexplained_sources, in_degree, roots, missing_since_ms,
  next_episode, rank, claim`

const NODES = 15_000

/** A cache of CPIDs by id and UUID. Both lookups return the same object. */
class CpidCache {
  readonly #byId = new GenerationCache<number, CpidNode>(NODES)
  readonly #byCpid = new GenerationCache<string, CpidNode>(NODES)

  byId(id: number): CpidNode | undefined {
    return this.#byId.get(id)
  }

  byCpid(cpid: string): CpidNode | undefined {
    const node = this.#byCpid.get(cpid)
    return node === undefined ? undefined : (this.byId(node.id) ?? this.add(node))
  }

  add(node: CpidNode): CpidNode {
    this.#byId.set(node.id, node)
    this.#byCpid.set(node.cpid, node)
    return node
  }

  drop(id: number, cpid: string): void {
    this.#byId.delete(id)
    this.#byCpid.delete(cpid)
  }

  clear(): void {
    this.#byId.clear()
    this.#byCpid.clear()
  }
}

interface MergelogRow {
  arrival: bigint
  time_ns: bigint
  arrived_ms: bigint
  sources: Buffer
  scope: bigint
  object: string | null
  reason: string | null
  cluster: string | null
  replaces: bigint
  worked_out: bigint
}

interface ReporterRow {
  told_trace: Buffer
  told_span: bigint
  told_ms: bigint
}

/** Reads a stored mergelog with the cluster of its sender. */
export class MergelogReader extends OnConnection implements Mergelogs {
  readonly #find = this.exactRows<[number], MergelogRow>(
    `SELECT m.arrival, m.time_ns, m.arrived_ms, m.sources, m.scope, m.object, m.reason, m.replaces, m.worked_out, r.cluster FROM mergelogs m
       LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource WHERE m.cpid = +?`,
  )
  readonly #reporter = this.exactRows<[number], ReporterRow>(
    `SELECT told_trace, told_span, told_ms FROM mergelogs WHERE cpid = +? AND told_trace IS NOT NULL`,
  )

  reporterOf(cpid: number): ChangeReporter | undefined {
    const row = this.#reporter.get(cpid)
    return row && { traceId: row.told_trace, spanId: row.told_span, sinceMs: Number(row.told_ms) }
  }

  find(cpid: number): StoredMergelog | undefined {
    const row = this.#find.get(cpid)
    return row === undefined
      ? undefined
      : {
          arrival: Number(row.arrival),
          timeNs: row.time_ns,
          arrivedMs: Number(row.arrived_ms),
          sources: cpidsOf(row.sources),
          scope: Number(row.scope),
          object: row.object ?? undefined,
          reason: row.reason ?? undefined,
          cluster: row.cluster ?? undefined,
          replaces: row.replaces === 1n,
          isWorkedOut: row.worked_out === 1n,
        }
  }
}

/** The CPIDs of a stored source set: 16 bytes each, sorted. */
export function cpidsOf(blob: Buffer): Cpid[] {
  const cpids: Cpid[] = []
  for (let at = 0; at < blob.length; at += 16) cpids.push(cpidOfBytes(blob.subarray(at, at + 16)))
  return cpids
}
