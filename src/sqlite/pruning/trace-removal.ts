import { SENT_FOR_CHILD } from '../../model/ports/linking/decisions.ts'
import type { PruneCounts } from '../../model/ports/prune-port.ts'
import type { SqliteMergeGraph } from '../writer/merge-graph-store.ts'
import type { SpansSentForChildren } from './spans-sent-for-children.ts'
import type { PruneHolds } from './holds.ts'
import type { PrunedRows } from './pruned-rows.ts'
import type { Statements } from './statements.ts'

interface TraceRow {
  id: number
  root: number
  episode: number
  /** The first trace of the cascade, when it is another one. */
  continues: number | null
}

interface ChangeRow {
  trace: number
  root: number | null
  episode: number | null
  continues: number | null
}

interface Parts {
  readonly sql: Statements
  readonly graph: SqliteMergeGraph
  readonly rows: PrunedRows
  readonly holds: PruneHolds
  readonly brought: SpansSentForChildren
}

/** Its change spans go last: by them what is left of a trace is found again in the next turn. */
const TABLES = ['awaited_parents', 'trace_services', 'trace_actors', 'change_spans']

/** Removes traces and what stands in them, some rows at a time. */
export class TraceRemoval {
  readonly #sql: Statements
  readonly #graph: SqliteMergeGraph
  readonly #rows: PrunedRows
  readonly #holds: PruneHolds
  readonly #brought: SpansSentForChildren

  constructor({ sql, graph, rows, holds, brought }: Parts) {
    this.#sql = sql
    this.#graph = graph
    this.#rows = rows
    this.#holds = holds
    this.#brought = brought
  }

  /** The traces of a root; returns how many rows went, `most` when there may be more. */
  removeOfRoot(root: number, most: number, counts: PruneCounts): number {
    let removed = 0
    while (removed < most) {
      const [trace] = this.#sql.rows<TraceRow>(
        'SELECT id, root, episode, continues FROM traces WHERE root = +? LIMIT 1',
        root,
      )
      if (trace === undefined) return removed
      removed += this.#remove(trace, most - removed, counts)
    }
    return most
  }

  /**
   * What a CPID has in the traces of others. Where its root was pruned before, nobody else stands in a trace but CPIDs that
   * are still there: it goes with the last of them.
   */
  removeOthers(cpid: number, most: number, counts: PruneCounts): number {
    let removed = 0
    while (removed < most) {
      const [change] = this.#sql.rows<ChangeRow>(
        `SELECT c.trace, t.root, t.episode, t.continues FROM change_spans c LEFT JOIN traces t ON t.id = c.trace
         WHERE c.cpid = +? LIMIT 1`,
        cpid,
      )
      if (change === undefined) return removed
      const { trace: id, root, episode, continues } = change
      if (root !== null && episode !== null && this.#isLastIn(id, cpid, root)) {
        removed += this.#remove({ id, root, episode, continues }, most - removed, counts)
      } else removed += this.#sql.run('DELETE FROM change_spans WHERE cpid = +? AND trace = +?', cpid, id)
    }
    return most
  }

  #isLastIn(trace: number, cpid: number, root: number): boolean {
    if (this.#graph.maybeNode(root)?.pruned === false) return false
    const other = 'SELECT 1 FROM change_spans WHERE trace = +? AND cpid NOT IN (+?, +?) LIMIT 1'
    return this.#sql.number(other, trace, cpid, root) === undefined
  }

  #remove(trace: TraceRow, most: number, counts: PruneCounts): number {
    let removed = this.#removeWrites(trace, most)
    if (removed >= most) return most
    removed += this.#removeDecisions(trace.id, most - removed, counts)
    if (removed >= most) return most
    for (const table of TABLES) {
      removed += this.#sql.run(`DELETE FROM ${table} WHERE trace = +? LIMIT +?`, trace.id, most - removed)
      if (removed >= most) return most
    }
    this.#rememberEpisode(trace)
    this.#sql.run('DELETE FROM traces WHERE id = +?', trace.id)
    this.#rows.trace(trace.id, trace.root)
    return removed + 1
  }

  /** With what was sent into it go the spans without a CPID that children brought into no other. */
  #removeDecisions(trace: number, most: number, counts: PruneCounts): number {
    const gone = this.#sql.rows<{ span: number | null; flags: number }>(
      'DELETE FROM outbox WHERE trace = +? RETURNING span, flags LIMIT +?',
      trace,
      most,
    )
    const brought = gone.flatMap(({ span, flags }) =>
      span !== null && (flags & SENT_FOR_CHILD) !== 0 ? [span] : [],
    )
    return gone.length + this.#brought.release(brought, this.#holds.sentDecision, counts)
  }

  /** What was written in a cascade stands under its first trace, and goes with the last. */
  #removeWrites({ id, continues }: TraceRow, most: number): number {
    const cascade = continues ?? id
    const others = `SELECT 1 FROM traces WHERE id = +? AND id <> +?
      UNION ALL SELECT 1 FROM traces WHERE continues = +? AND id <> +? LIMIT 1`
    if (this.#sql.number(others, cascade, id, cascade, id) !== undefined) return 0
    let removed = 0
    for (const table of ['trace_writes', 'trace_namespaces']) {
      if (removed < most)
        removed += this.#sql.run(`DELETE FROM ${table} WHERE trace = +? LIMIT +?`, cascade, most - removed)
    }
    return removed
  }

  /** The next episode of its root must not be given the id of one that was sent. */
  #rememberEpisode({ root, episode }: TraceRow): void {
    const node = this.#graph.maybeNode(root)
    if (node === undefined || node.nextEpisode > episode) return
    node.nextEpisode = episode + 1
    this.#graph.save(node)
  }
}
