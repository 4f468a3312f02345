import { recordMergelog, type RecordMergelog } from '../../src/graph/record-mergelog.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { SqliteArrivals } from '../../src/store/sqlite/arrivals.ts'
import { SqliteMergeGraph } from '../../src/store/sqlite/merge-graph.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { TRACE_INDEX_SIZES, TraceIndex } from '../../src/store/sqlite/trace-id-index.ts'
import { Progress, WriterTransaction } from '../../src/store/sqlite/transactions.ts'
import { migratedMemory } from '../support/migrated-memory.ts'
import { TestClock } from '../support/test-clock.ts'

/** A merge graph in SQLite, by itself. */
export class TestGraph implements AsyncDisposable {
  readonly clock = new TestClock()
  readonly graph: SqliteMergeGraph
  /** How often the sources of a CPID were read. */
  looks = 0
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #arrivals: SqliteArrivals
  readonly #transaction: WriterTransaction

  static async open(): Promise<TestGraph> {
    return new TestGraph(await migratedMemory())
  }

  private constructor(db: Sqlite) {
    this.#db = db
    this.#progress = new Progress(db, this.clock)
    this.graph = new SqliteMergeGraph(db, this.#progress)
    const traces = new TraceIndex(db, this.#progress, TRACE_INDEX_SIZES)
    const most = { refusedMergelogs: 100, requests: { requests: 100, refused: 100 } }
    this.#arrivals = new SqliteArrivals(db, this.#progress, traces, most)
    const sourcesOf = this.graph.sourcesOf.bind(this.graph)
    this.graph.sourcesOf = (id) => {
      this.looks++
      return sourcesOf(id)
    }
    this.#transaction = new WriterTransaction(db, this.#progress, [this.graph, this.#arrivals])
  }

  /** Records a mergelog as a request does. */
  add(cpid: Cpid, sources: Cpid[], settings: RecordMergelog): void {
    const mergelog = { cpid, sources: sources.sort() }
    const outcome = recordMergelog(this.graph, mergelog, settings)
    if (outcome.kind !== 'new') return
    const { id } = this.graph.findOrAdd(cpid)
    const record = { newCpid: cpid, sources, timeNs: 1n, object: undefined, reason: undefined }
    const from = { scope: 1, cluster: '' }
    const { arrival, replaced: replaces } = outcome
    if (replaces) this.#arrivals.contestMergelog(id, cpid)
    this.#arrivals.addMergelog(id, arrival, mergelog, record, 1n, from, {
      reportingSpan: undefined,
      replaces,
    })
  }

  inTransaction<T>(work: (nowMs: number) => T): T {
    return this.#transaction.run(() => work(this.#progress.activeMs))
  }

  /** Does something and rolls it back. */
  undone(work: (nowMs: number) => void): void {
    try {
      this.#transaction.run(() => {
        work(this.#progress.activeMs)
        throw new RolledBack()
      })
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error
    }
  }

  /** Removes a CPID to which no edge points, as pruning does. */
  prune(cpid: Cpid): void {
    const { graph } = this
    const node = graph.find(cpid)
    if (node === undefined || node.pruned || node.inDegree > 0) return
    for (const target of graph.targetsAfter(node.id, 0, 1e6)) {
      this.#db.prepare('DELETE FROM edges WHERE source = ? AND target = ?').run(node.id, target)
      const descendant = graph.node(target)
      descendant.inDegree--
      if (!node.explained) descendant.unexplainedSources--
      graph.save(descendant)
    }
    this.#db.prepare('DELETE FROM mergelogs WHERE cpid = ?').run(node.id)
    Object.assign(node, {
      pruned: true,
      hasMergelog: false,
      explained: true,
      unexplainedSources: 0,
      roots: [node.id],
    })
    graph.save(node)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#db.close()
  }
}

class RolledBack extends Error {}
