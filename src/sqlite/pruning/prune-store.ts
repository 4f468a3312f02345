import type { UnixNanos } from '../../model/clock.ts'
import type { ArrivalMarks } from '../../model/ports/keeping-port.ts'
import type {
  CpidToPrune,
  PruneHold,
  PruneCandidate,
  PruneCounts,
  PruneStore,
  Reached,
  RemovalStep,
} from '../../model/ports/prune-port.ts'
import type { SqliteMergeGraph } from '../writer/merge-graph-store.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import type { TraceIndex } from '../writer/trace-index.ts'
import { ContentsOfPrunedCpids } from './contents-of-pruned-cpids.ts'
import { SpansSentForChildren } from './spans-sent-for-children.ts'
import { Candidates } from './candidates.ts'
import { PruneHolds } from './holds.ts'
import { ObjectRemoval } from './object-removal.ts'
import { removeOldRequests } from './old-requests.ts'
import type { PrunedRows } from './pruned-rows.ts'
import { SpanRemoval } from './span-removal.ts'
import { Statements } from './statements.ts'
import { Tombstones } from './tombstones.ts'
import { TraceRemoval } from './trace-removal.ts'
import { Unattributed } from './unattributed.ts'

/** Where retention reads and removes. */
export class SqlitePruneStore implements PruneStore, ArrivalMarks {
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #sql: Statements
  readonly #candidates: Candidates
  readonly #holds: PruneHolds
  readonly #belongings: ContentsOfPrunedCpids
  readonly #unattributed: Unattributed
  readonly #tombstones: Tombstones

  constructor(
    db: Sqlite,
    progress: Progress,
    { graph, index, rows }: { graph: SqliteMergeGraph; index: TraceIndex; rows: PrunedRows },
  ) {
    this.#db = db
    this.#progress = progress
    const sql = new Statements(db)
    this.#sql = sql
    const objects = new ObjectRemoval(sql, rows)
    const brought = new SpansSentForChildren({ sql, objects, index, rows })
    const holds = new PruneHolds(sql, progress, brought)
    const parts = { sql, progress, holds, objects, index, rows, brought, graph }
    this.#candidates = new Candidates(db, sql)
    this.#holds = holds
    const spans = new SpanRemoval(sql, progress, parts)
    this.#belongings = new ContentsOfPrunedCpids({ ...parts, spans, traces: new TraceRemoval(parts) })
    this.#unattributed = new Unattributed(parts)
    this.#tombstones = new Tombstones(sql, progress, graph, objects)
  }

  begin(): void {
    this.#holds.begin()
  }

  get reached(): Reached {
    return this.#holds.reached
  }

  get lastArrival(): number {
    return this.#progress.lastArrival
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

  candidates(
    after: PruneCandidate | undefined,
    before: PruneCandidate | undefined,
    limit: number,
  ): PruneCandidate[] {
    return this.#candidates.between(after, before, limit)
  }

  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[] {
    return this.#candidates.mergedAfter(arrival, limit)
  }

  lastActivityMs(cpid: number): number {
    return this.#holds.lastActivityMs(cpid)
  }

  hold(cpid: number): PruneHold | undefined {
    return this.#holds.hold(cpid)
  }

  condemn(cpid: number, forced: boolean): void {
    this.#candidates.condemn(cpid, forced)
  }

  condemned(limit: number): CpidToPrune[] {
    return this.#candidates.condemned(limit)
  }

  spare(cpid: number): PruneCandidate {
    return this.#candidates.spare(cpid)
  }

  removeSome(cpid: number, limit: number, forced: boolean, counts: PruneCounts): RemovalStep {
    return this.#belongings.removeSome(cpid, limit, forced, counts)
  }

  removeEdge(source: number, target: number): void {
    this.#sql.run('DELETE FROM edges WHERE source = +? AND target = +?', source, target)
  }

  bury(cpid: number): void {
    this.#tombstones.bury(cpid)
  }

  readUnsent(): boolean {
    return this.#unattributed.readUnsent()
  }

  removeUnattributed(beforeMs: number, limit: number, forced: boolean, counts: PruneCounts): number {
    return this.#unattributed.remove(beforeMs, limit, forced, counts)
  }

  oldestUnattributedNs(forced: boolean): UnixNanos | undefined {
    return this.#unattributed.oldestNs(forced)
  }

  removeOldTombstones(keep: number, limit: number): number {
    return this.#tombstones.removeOld(keep, limit)
  }

  removeRequests(beforeMs: number, limit: number): number {
    return removeOldRequests(this.#sql, beforeMs, this.#progress.wallMs, limit)
  }

  lastMarkMs(): number | undefined {
    return this.#sql.number('SELECT max(wall_ms) FROM arrival_marks')
  }

  mark(): void {
    const { wallMs, lastArrival } = this.#progress
    this.#sql.run('INSERT OR REPLACE INTO arrival_marks VALUES (?, ?)', wallMs, lastArrival)
  }

  /** What is remembered of decisions may not be true any more. */
  forget(): void {
    this.#unattributed.forget()
  }
}
