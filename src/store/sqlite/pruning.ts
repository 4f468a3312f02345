import { type Cpid, firstEpisode } from '../../model/merge-graph.ts'
import type {
  ArrivalMarks,
  Cached,
  CpidToPrune,
  PruneCandidate,
  PruneStore,
} from '../../model/store-ports.ts'
import { CHANGED } from './archives.ts'
import type { SqliteMergeGraph } from './merge-graph.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { CpidContentsRemoval, SpanRemoval, TraceRemoval } from './pruning-cpid-contents.ts'
import { ObjectRemoval, type PrunedRows, PruneHolds, SpansSentForChildren } from './pruning-holds.ts'
import { UnattributedRemoval } from './pruning-unattributed.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { TraceIndex } from './trace-id-index.ts'
import type { Progress } from './transactions.ts'

/** The tables from which retention reads and removes. */
export function sqlitePruneStore(
  db: Sqlite,
  progress: Progress,
  { graph, index, rows }: { graph: SqliteMergeGraph; index: TraceIndex; rows: PrunedRows },
): PruneStore & ArrivalMarks & Cached {
  const sql = new PreparedStatements(db)
  const objects = new ObjectRemoval(sql, rows)
  const brought = new SpansSentForChildren({ sql, objects, index, rows })
  const holds = new PruneHolds(sql, progress, brought)
  const parts = { sql, progress, holds, objects, index, rows, brought, graph }
  const candidates = new PruneCandidates(db)
  const spans = new SpanRemoval(sql, parts)
  const contents = new CpidContentsRemoval({ ...parts, spans, traces: new TraceRemoval(parts) })
  const unattributed = new UnattributedRemoval(parts)
  const tombstones = new Tombstones(sql, progress, graph, objects)
  const pragma = (name: string): number => sql.number(`PRAGMA ${name}`) ?? 0
  return {
    begin: () => holds.begin(),
    get processedUpTo() {
      return holds.reached
    },
    get lastArrival() {
      return progress.lastArrival
    },
    countCpids: () => progress.liveCpids,
    usedBytes: () => (pragma('page_count') - pragma('freelist_count')) * pragma('page_size'),
    candidates: (after, before, limit) => candidates.between(after, before, limit),
    mergedAfter: (arrival, limit) => candidates.mergedAfter(arrival, limit),
    lastActivityMs: (cpid) => holds.lastActivityMs(cpid),
    hold: (cpid) => holds.hold(cpid),
    markForRemoval: (cpid, forced) => candidates.markForRemoval(cpid, forced),
    markedForRemoval: (limit) => candidates.markedForRemoval(limit),
    unmark: (cpid) => candidates.unmark(cpid),
    removeSome: (cpid, limit, forced, counts) => contents.removeSome(cpid, limit, forced, counts),
    removeEdge: (source, target) => {
      sql.run('DELETE FROM edges WHERE source = +? AND target = +?', source, target)
    },
    leaveTombstone: (cpid) => tombstones.leaveTombstone(cpid),
    readUnsent: () => unattributed.readUnsent(),
    removeUnattributed: (beforeMs, limit, forced, counts) =>
      unattributed.remove(beforeMs, limit, forced, counts),
    oldestUnattributedNs: (forced) => unattributed.oldestNs(forced),
    removeOldTombstones: (keep, limit) => tombstones.removeOld(keep, limit),
    removeRequests: (beforeMs, limit) => removeOldRequests(sql, beforeMs, progress.wallMs, limit),
    lastMarkMs: () => sql.number('SELECT max(wall_ms) FROM arrival_marks'),
    mark: () => {
      sql.run('INSERT OR REPLACE INTO arrival_marks VALUES (?, ?)', progress.wallMs, progress.lastArrival)
    },
    /** Cached decisions may be outdated. */
    forget: () => unattributed.forget(),
  }
}

/** Stored in place of the time in `cpids.prune_ns` for CPIDs that are marked for removal: roots now, and removed before all others. */
const MARKED = -1
const MARKED_BY_FORCE = -2

const FIRST: PruneCandidate = { timeNs: -1n, id: Number.MAX_SAFE_INTEGER }
const LAST: PruneCandidate = { timeNs: 2n ** 63n - 1n, id: 0 }

interface PlaceRow {
  id: bigint
  prune_ns: bigint
}

/** CPIDs that no edge points to, in the order of removal. */
class PruneCandidates extends OnConnection {
  readonly #between = this.exactRows<[bigint, number, bigint, number, number], PlaceRow>(
    `SELECT id, prune_ns FROM cpids WHERE state = 0 AND in_degree = 0
       AND (prune_ns, id) > (+?, +?) AND (prune_ns, id) < (+?, +?) ORDER BY prune_ns, id LIMIT +?`,
  )
  readonly #merged = this.exactRows<[number, number], PlaceRow & { arrival: bigint }>(
    `SELECT m.arrival, c.id, c.prune_ns FROM mergelogs m CROSS JOIN cpids c ON c.id = m.cpid
       WHERE m.arrival > +? ORDER BY m.arrival LIMIT +?`,
  )
  readonly #mark = this.db.prepare<[number, number]>('UPDATE cpids SET prune_ns = ? WHERE id = +?')
  readonly #marked = this.db.prepare<[number], { id: number; prune_ns: number }>(
    `SELECT id, prune_ns FROM cpids WHERE state = 0 AND in_degree = 0 AND prune_ns < 0
       ORDER BY prune_ns LIMIT +?`,
  )
  readonly #unmark = this.exactRows<[number, number], PlaceRow>(
    `UPDATE cpids SET prune_ns = coalesce(
         (SELECT min(time_ns, arrived_ms * 1000000) FROM mergelogs WHERE cpid = +?), first_seen_ms * 1000000)
       WHERE id = +? RETURNING id, prune_ns`,
  )

  between(after: PruneCandidate = FIRST, before: PruneCandidate = LAST, limit: number): PruneCandidate[] {
    return this.#between.all(after.timeNs, after.id, before.timeNs, before.id, limit).map(placeOf)
  }

  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[] {
    return this.#merged
      .all(arrival, limit)
      .map((row) => ({ arrival: Number(row.arrival), place: placeOf(row) }))
  }

  markForRemoval(cpid: number, forced: boolean): void {
    this.#mark.run(forced ? MARKED_BY_FORCE : MARKED, cpid)
  }

  markedForRemoval(limit: number): CpidToPrune[] {
    return this.#marked.all(limit).map(({ id, prune_ns }) => ({ id, forced: prune_ns === MARKED_BY_FORCE }))
  }

  unmark(cpid: number): PruneCandidate {
    const row = this.#unmark.get(cpid, cpid)
    if (row === undefined) throw new Error(`no CPID has the number ${cpid}`)
    return placeOf(row)
  }
}

function placeOf({ id, prune_ns }: PlaceRow): PruneCandidate {
  return { id: Number(id), timeNs: prune_ns }
}

class Tombstones {
  readonly #sql: PreparedStatements
  readonly #progress: Progress
  readonly #graph: SqliteMergeGraph
  readonly #objects: ObjectRemoval
  /** The last tombstone that was examined. */
  #looked = 0

  constructor(sql: PreparedStatements, progress: Progress, graph: SqliteMergeGraph, objects: ObjectRemoval) {
    this.#sql = sql
    this.#progress = progress
    this.#graph = graph
    this.#objects = objects
  }

  /** Turns a CPID whose contents have been removed into a tombstone. */
  leaveTombstone(cpid: number): void {
    const node = this.#graph.node(cpid)
    // It may have had traces before an older tombstone of it was removed.
    const mergelogMs = this.#sql.number('SELECT time_ns / 1000000 FROM mergelogs WHERE cpid = +?', cpid)
    node.nextEpisode = firstEpisode(node, mergelogMs, this.#progress.forgotten)
    this.#noteTime(cpid)
    this.#removeMergelog(cpid)
    node.pruned = true
    this.#progress.liveCpids--
    this.#progress.tombstones++
    node.hasMergelog = false
    node.explained = true
    node.unexplainedSources = 0
    node.inDegree = 0
    node.roots = [cpid]
    // A backend may have its main trace, even if this process never opened one.
    node.nextEpisode = Math.max(node.nextEpisode, 1)
    this.#graph.save(node)
  }

  /**
   * Removes the oldest tombstones beyond `keep`. Keeps those with traces, which are removed with the last CPID in the trace; these are few,
   * since each CPID has at most `max_fanout` roots. Keeps those whose CPID an unsent log record inherited. Keeps those that are not
   * archived yet, up to twice `keep`. Examines at most `limit`.
   */
  removeOld(keep: number, limit: number): number {
    let excess = this.#progress.tombstones - keep
    if (excess <= 0) {
      this.#looked = 0
      return 0
    }
    const page = this.#sql.rows<{
      id: number
      text: Cpid
      nextEpisode: number
      isNeeded: number
      isUnarchived: number
    }>(
      `SELECT id, text, next_episode AS nextEpisode, EXISTS (SELECT 1 FROM traces WHERE root = cpids.id)
         OR EXISTS (SELECT 1 FROM log_outbox WHERE cpid = cpids.id) AS isNeeded,
         EXISTS (SELECT 1 FROM archive_changes WHERE kind = ${CHANGED.cpid} AND item = cpids.id) AS isUnarchived FROM cpids
       WHERE state = 1 AND id > +? ORDER BY id LIMIT +?`,
      this.#looked,
      limit,
    )
    for (const { id, text, nextEpisode, isNeeded, isUnarchived } of page) {
      if (excess <= 0) break
      if (isNeeded === 1 || (isUnarchived === 1 && excess <= keep)) continue
      this.#sql.run('DELETE FROM cpids WHERE id = +?', id)
      this.#graph.drop(id, text)
      this.#noteEpisode(nextEpisode)
      this.#progress.tombstones--
      excess--
    }
    this.#looked = page.at(-1)?.id ?? 0
    return page.length
  }

  /** Call it while the mergelog still exists. A time in the future counts as now. */
  #noteTime(cpid: number): void {
    const timeMs =
      this.#sql.number(
        `SELECT max(c.first_seen_ms, min(coalesce(m.time_ns, 0) / 1000000 + 1, +?)) FROM cpids c
         LEFT JOIN mergelogs m ON m.cpid = c.id WHERE c.id = +?`,
        this.#progress.wallMs,
        cpid,
      ) ?? 0
    const { forgotten } = this.#progress
    if (timeMs > forgotten.untilMs) this.#progress.forgotten = { ...forgotten, untilMs: timeMs }
  }

  #noteEpisode(nextEpisode: number): void {
    const { forgotten } = this.#progress
    if (nextEpisode > forgotten.nextEpisode) this.#progress.forgotten = { ...forgotten, nextEpisode }
  }

  #removeMergelog(cpid: number): void {
    const object = this.#sql.number('SELECT object_id FROM mergelogs WHERE cpid = +?', cpid)
    this.#sql.run('DELETE FROM mergelogs WHERE cpid = +?', cpid)
    this.#sql.run('UPDATE cpids SET merged_ns = NULL WHERE id = +?', cpid)
    if (object !== undefined) this.#objects.removeUnnamed(object)
  }
}

/** Removes requests that arrived before a time, at most `limit`. Returns how many. */
function removeOldRequests(sql: PreparedStatements, beforeMs: number, wallMs: number, limit: number): number {
  const page = sql.rows<{ id: number; arrived_ms: number }>(
    'SELECT id, arrived_ms FROM requests ORDER BY id LIMIT +?',
    limit,
  )
  let upTo = 0
  let ahead = 0
  for (const { id, arrived_ms } of page) {
    if (arrived_ms < beforeMs) upTo = id
    else if (arrived_ms > wallMs) ahead = id
    else {
      // A request whose time is in the future, because the clock was ahead, counts as old as its neighbours.
      upTo = Math.max(upTo, ahead)
      break
    }
  }
  return upTo === 0 ? 0 : sql.run('DELETE FROM requests WHERE id <= +?', upTo)
}
