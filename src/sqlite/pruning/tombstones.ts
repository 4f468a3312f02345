import type { Cpid } from '../../model/cpid.ts'
import type { SqliteMergeGraph } from '../writer/merge-graph-store.ts'
import type { Progress } from '../progress.ts'
import type { ObjectRemoval } from './object-removal.ts'
import type { Statements } from './statements.ts'

/** What is left of pruned CPIDs. */
export class Tombstones {
  readonly #sql: Statements
  readonly #progress: Progress
  readonly #graph: SqliteMergeGraph
  readonly #objects: ObjectRemoval
  /** The last that was looked at. */
  #looked = 0

  constructor(sql: Statements, progress: Progress, graph: SqliteMergeGraph, objects: ObjectRemoval) {
    this.#sql = sql
    this.#progress = progress
    this.#graph = graph
    this.#objects = objects
  }

  /** Makes one of a CPID whose belongings are gone. */
  bury(cpid: number): void {
    this.#noteTime(cpid)
    this.#removeMergelog(cpid)
    const node = this.#graph.node(cpid)
    node.pruned = true
    this.#progress.liveCpids--
    this.#progress.tombstones++
    node.hasMergelog = false
    node.explained = true
    node.unexplainedSources = 0
    node.inDegree = 0
    node.roots = [cpid]
    // Its main trace may be in a backend, even if it was never opened here.
    node.nextEpisode = Math.max(node.nextEpisode, 1)
    this.#graph.save(node)
  }

  /**
   * Forgets the oldest beyond `keep`, but none whose traces are still there: they go with the last CPID in them, of which
   * each keeps `max_fanout` roots, so that there are never many. Nor those that log records to be sent took from their
   * spans. Looks at `limit` at most.
   */
  removeOld(keep: number, limit: number): number {
    let excess = this.#progress.tombstones - keep
    if (excess <= 0) {
      this.#looked = 0
      return 0
    }
    const page = this.#sql.rows<{ id: number; text: Cpid; nextEpisode: number; isNeeded: number }>(
      `SELECT id, text, next_episode AS nextEpisode, EXISTS (SELECT 1 FROM traces WHERE root = cpids.id)
         OR EXISTS (SELECT 1 FROM log_outbox WHERE cpid = cpids.id) AS isNeeded FROM cpids
       WHERE state = 1 AND id > +? ORDER BY id LIMIT +?`,
      this.#looked,
      limit,
    )
    for (const { id, text, nextEpisode, isNeeded } of page) {
      if (excess <= 0) break
      if (isNeeded === 1) continue
      this.#sql.run('DELETE FROM cpids WHERE id = +?', id)
      this.#graph.drop(id, text)
      this.#noteEpisode(nextEpisode)
      this.#progress.tombstones--
      excess--
    }
    this.#looked = page.at(-1)?.id ?? 0
    return page.length
  }

  /** Taken while the mergelog is still there. A time to come is no later than now. */
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
