import type { Statement } from 'better-sqlite3'
import type { UnixNanos } from '../model/clock.ts'
import type { PruneCandidate, PruneCounts, PruneStore } from '../model/prune-port.ts'
import type { SqliteMergeGraph } from './merge-graph-store.ts'
import type { Sqlite } from './open-database.ts'
import type { Progress } from './progress.ts'
import type { TraceIndex } from './trace-index.ts'

/** Where retention reads and removes. Every method belongs inside the writer's transaction. */
export class SqlitePruneStore implements PruneStore {
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #graph: SqliteMergeGraph
  readonly #traces: TraceIndex
  readonly #statements = new Map<string, Statement>()

  constructor(db: Sqlite, progress: Progress, graph: SqliteMergeGraph, traces: TraceIndex) {
    this.#db = db
    this.#progress = progress
    this.#graph = graph
    this.#traces = traces
  }

  get wallMs(): number {
    return this.#progress.wallMs
  }

  countCpids(): number {
    return this.#progress.liveCpids
  }

  countTombstones(): number {
    return this.#progress.tombstones
  }

  usedBytes(): number {
    const pragma = (name: string): number => Number(this.#db.pragma(name, { simple: true }))
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size')
  }

  candidates(after: PruneCandidate | undefined, limit: number): PruneCandidate[] {
    const rows = this.#db
      .prepare<[bigint, number, number], { id: bigint; prune_ns: bigint }>(
        `SELECT id, prune_ns FROM cpids WHERE state = 0 AND in_degree = 0 AND (prune_ns, id) > (?, ?)
         ORDER BY prune_ns, id LIMIT ?`,
      )
      .safeIntegers()
      .all(after?.timeNs ?? -1n, after?.id ?? 0, limit)
    return rows.map((row) => ({ id: Number(row.id), timeNs: row.prune_ns }))
  }

  lastActivityMs(cpid: number): number {
    return this.#number(
      `SELECT max(coalesce((SELECT max(last_wall_ms) FROM traces WHERE root = ?), 0),
         (SELECT prune_ns / 1000000 FROM cpids WHERE id = ?))`,
      cpid,
      cpid,
    )
  }

  isHeld(cpid: number): boolean {
    return (
      this.#number(
        `SELECT EXISTS (SELECT 1 FROM traces WHERE root = ? AND (state = 0 OR
             last_decision > coalesce((SELECT min(position) FROM exporters), last_decision)))
           OR EXISTS (SELECT 1 FROM waiting WHERE cpid = ?)
           OR EXISTS (SELECT 1 FROM waiting_logs WHERE cpid = ?)
           OR EXISTS (SELECT 1 FROM log_outbox) AND EXISTS (
             SELECT 1 FROM logs l JOIN log_outbox o ON o.log = l.id WHERE l.cpid = ?)
           OR EXISTS (SELECT 1 FROM mergelogs WHERE cpid = ? AND arrival > (SELECT linked_arrival FROM progress))`,
        cpid,
        cpid,
        cpid,
        cpid,
        cpid,
      ) === 1
    )
  }

  removeBelongings(cpid: number, counts: PruneCounts): void {
    this.#run(
      `DELETE FROM outbox WHERE trace = 0 AND span IN (SELECT s.id FROM cpid_origins c
         JOIN spans s ON s.origin = c.origin AND s.cpid = c.cpid WHERE c.cpid = ?)`,
      cpid,
    )
    for (const origin of this.#numbers('SELECT origin FROM cpid_origins WHERE cpid = ?', cpid)) {
      this.#removeObjectsOf('SELECT id FROM spans WHERE origin = ? AND cpid = ?', origin, cpid)
      counts.spans += this.#run('DELETE FROM spans WHERE origin = ? AND cpid = ?', origin, cpid)
      this.#traces.removeIfEmpty(origin)
    }
    this.#run('DELETE FROM cpid_origins WHERE cpid = ?', cpid)
    this.#run('DELETE FROM log_outbox WHERE log IN (SELECT id FROM logs WHERE cpid = ?)', cpid)
    this.#run('DELETE FROM waiting_logs WHERE cpid = ?', cpid)
    counts.logs += this.#run('DELETE FROM logs WHERE cpid = ?', cpid)
    for (const trace of this.#numbers('SELECT id FROM traces WHERE root = ?', cpid)) {
      this.#run('DELETE FROM outbox WHERE trace = ?', trace)
      this.#run('DELETE FROM change_spans WHERE trace = ?', trace)
      this.#run('DELETE FROM trace_services WHERE trace = ?', trace)
      this.#run('DELETE FROM awaited_parents WHERE trace = ?', trace)
      this.#run('DELETE FROM trace_writes WHERE trace = ?', trace)
    }
    this.#run('DELETE FROM change_spans WHERE cpid = ?', cpid)
    this.#removeMergelog(cpid)
    this.#run('DELETE FROM waiting WHERE cpid = ?', cpid)
  }

  removeEdge(source: number, target: number): void {
    this.#run('DELETE FROM edges WHERE source = ? AND target = ?', source, target)
  }

  bury(cpid: number): void {
    const node = this.#graph.node(cpid)
    const newest = this.#number('SELECT coalesce(max(episode), 0) FROM traces WHERE root = ?', cpid)
    this.#run('DELETE FROM traces WHERE root = ?', cpid)
    node.pruned = true
    this.#progress.liveCpids--
    this.#progress.tombstones++
    node.hasMergelog = false
    node.explained = true
    node.unexplainedSources = 0
    node.inDegree = 0
    node.roots = [cpid]
    node.nextEpisode = Math.max(node.nextEpisode, newest + 1)
    this.#graph.save(node)
  }

  removeUnattributed(beforeMs: number, limit: number, counts: PruneCounts): number {
    const upTo = this.#mayGoUpTo(beforeMs)
    const rows = this.#db
      .prepare<[number, number], { id: number; origin: number }>(
        'SELECT id, origin FROM spans WHERE cpid IS NULL AND id <= ? ORDER BY id LIMIT ?',
      )
      .all(upTo, limit)
    for (const { id, origin } of rows) {
      this.#run('DELETE FROM outbox WHERE trace = 0 AND span = ?', id)
      this.#removeObjectsOf('SELECT ?', id)
      this.#run('DELETE FROM spans WHERE id = ?', id)
      this.#traces.removeIfEmpty(origin)
    }
    const logs = this.#run(
      `DELETE FROM logs WHERE id IN (SELECT id FROM logs l WHERE cpid IS NULL AND id <= ?
         AND NOT EXISTS (SELECT 1 FROM log_outbox WHERE log = l.id)
         AND NOT EXISTS (SELECT 1 FROM waiting_logs WHERE arrival = l.id) ORDER BY id LIMIT ?)`,
      Math.min(this.#arrivedBefore(beforeMs), this.#progress.linkedArrival),
      limit,
    )
    counts.spans += rows.length
    counts.logs += logs
    return rows.length + logs
  }

  oldestUnattributedNs(): UnixNanos | undefined {
    return this.#db
      .prepare<[number], bigint>(
        'SELECT start_ns FROM spans WHERE cpid IS NULL AND id <= ? ORDER BY id LIMIT 1',
      )
      .pluck()
      .safeIntegers()
      .get(this.#mayGoUpTo(Infinity))
  }

  removeOldTombstones(keep: number): void {
    const excess = this.#progress.tombstones - keep
    if (excess <= 0) return
    this.#progress.tombstones -= this.#run(
      'DELETE FROM cpids WHERE id IN (SELECT id FROM cpids WHERE state = 1 ORDER BY id LIMIT ?)',
      excess,
    )
  }

  removeRequests(beforeMs: number): void {
    // One from a time when the clock was ahead is as old as those around it.
    this.#run(
      'DELETE FROM requests WHERE id < (SELECT min(id) FROM requests WHERE arrived_ms BETWEEN ? AND ?)',
      beforeMs,
      this.wallMs,
    )
    this.#run('DELETE FROM requests WHERE arrived_ms < ? AND id = (SELECT min(id) FROM requests)', beforeMs)
  }

  /** The time of the newest such note: what the calendar said then. */
  lastMarkMs(): number | undefined {
    return (
      this.#db.prepare<[], number | null>('SELECT max(wall_ms) FROM arrival_marks').pluck().get() ?? undefined
    )
  }

  /** Notes which arrival is the last one now. */
  mark(): void {
    this.#run('INSERT OR REPLACE INTO arrival_marks VALUES (?, ?)', this.wallMs, this.#progress.lastArrival)
  }

  /** Unattributed spans up to here arrived before the time, were linked, and were sent by every exporter. */
  #mayGoUpTo(beforeMs: number): number {
    const unsent = this.#number(
      `SELECT coalesce(min(span) - 1, ?) FROM outbox
       WHERE decision > coalesce((SELECT min(position) FROM exporters), (SELECT last_decision FROM progress))`,
      this.#progress.linkedArrival,
    )
    return Math.min(this.#arrivedBefore(beforeMs), this.#progress.linkedArrival, unsent)
  }

  #arrivedBefore(beforeMs: number): number {
    if (beforeMs === Infinity) return this.#progress.linkedArrival
    this.#run(
      'DELETE FROM arrival_marks WHERE wall_ms < (SELECT max(wall_ms) FROM arrival_marks WHERE wall_ms <= ?)',
      beforeMs,
    )
    return this.#number('SELECT coalesce(max(arrival), 0) FROM arrival_marks WHERE wall_ms <= ?', beforeMs)
  }

  /** What these spans read and wrote, and the objects that nothing names any more. */
  #removeObjectsOf(spans: string, ...values: unknown[]): void {
    const named = `SELECT DISTINCT object FROM span_objects WHERE span IN (${spans})`
    const objects = this.#numbers(named, ...values)
    if (objects.length === 0) return
    this.#run(`DELETE FROM span_objects WHERE span IN (${spans})`, ...values)
    for (const object of objects) this.#removeUnnamed(object)
  }

  #removeMergelog(cpid: number): void {
    const objects = this.#numbers(
      'SELECT object_id FROM mergelogs WHERE cpid = ? AND object_id IS NOT NULL',
      cpid,
    )
    this.#run('DELETE FROM mergelogs WHERE cpid = ?', cpid)
    this.#run('UPDATE cpids SET merged_ns = NULL WHERE id = ?', cpid)
    for (const object of objects) this.#removeUnnamed(object)
  }

  /** Removes an object that no span names, and no mergelog. */
  #removeUnnamed(object: number): void {
    const rest = 'NOT EXISTS (SELECT 1 FROM span_objects WHERE object = ?)'
    for (const table of ['awaited_versions', 'awaited_writers']) {
      this.#run(`DELETE FROM ${table} WHERE object = ? AND ${rest}`, object, object)
    }
    this.#run(
      `DELETE FROM objects WHERE id = ? AND ${rest} AND NOT EXISTS (SELECT 1 FROM mergelogs WHERE object_id = ?)`,
      object,
      object,
      object,
    )
  }

  #run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(...values).changes
  }

  #number(sql: string, ...values: unknown[]): number {
    return Number(
      this.#statement(sql)
        .pluck()
        .get(...values) ?? 0,
    )
  }

  #numbers(sql: string, ...values: unknown[]): number[] {
    return this.#statement(sql)
      .pluck()
      .all(...values) as number[]
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
