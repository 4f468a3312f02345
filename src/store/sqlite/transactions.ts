import type { ForgottenTombstones } from '../../model/merge-graph.ts'
import type { Cached, RunOptions, Transactor } from '../../model/store-ports.ts'
import type { Clock } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { OpenedFile } from './opened-file.ts'

/**
 * Runs each piece of the writer's work in a transaction of its own. After a rollback, or a write by another process, everything cached is
 * dropped first.
 */
export class WriterTransaction extends OnConnection {
  readonly #file: OpenedFile
  readonly #progress: Progress
  readonly #caches: Cached[]
  readonly #changes = this.column<[], number>('SELECT total_changes()')
  /** Changes when another connection commits, not when this one does. */
  readonly #readVersion = this.column<[], number>('PRAGMA data_version')
  #dataVersion: number | undefined
  /** Reloading the caches failed; it is repeated before the next transaction. */
  #isStale = false
  /** Transactions run as parts of an open one, and one of them is running. */
  #isTogether = false
  #isInPart = false

  constructor(db: Sqlite, progress: Progress, caches: readonly Cached[]) {
    super(db)
    this.#file = new OpenedFile(db)
    this.#progress = progress
    this.#caches = [...caches]
    this.#dataVersion = this.#readVersion.get()
  }

  /**
   * Runs `work` and commits. If it throws, rolls back and rethrows. With `mayOnlyRead`, work that wrote nothing is not committed and does
   * not wait for the disk.
   */
  run<T>(work: () => T, { mayOnlyRead = false }: RunOptions = {}): T {
    if (this.#isTogether) return this.#runAsPart(work)
    return this.#inTransaction(() => {
      const changes = mayOnlyRead ? this.#changes.get() : undefined
      const result = work()
      const hasWritten = changes === undefined || this.#changes.get() !== changes
      if (hasWritten) this.#progress.save()
      return result
    })
  }

  /**
   * Commits all that `run` does meanwhile together, or nothing of it. An error in one `run` undoes only that one; an error in `work`
   * undoes all. Up time advances to the end of it.
   */
  together<T>(work: () => T): T {
    if (this.#isTogether) throw new Error('transactions are together already')
    return this.#inTransaction(() => {
      this.#isTogether = true
      try {
        const result = work()
        this.#progress.turn()
        this.#progress.save()
        return result
      } finally {
        this.#isTogether = false
      }
    })
  }

  #runAsPart<T>(work: () => T): T {
    if (this.#isInPart) throw new Error('cannot start a transaction within a transaction')
    this.#isInPart = true
    try {
      if (this.#isStale) this.#forget()
      this.#progress.turn()
      return this.attempt(work, this.#caches)
    } finally {
      this.#isInPart = false
    }
  }

  #inTransaction<T>(work: () => T): T {
    this.#file.checkLengths()
    this.db.exec('BEGIN IMMEDIATE')
    try {
      const version = this.#readVersion.get()
      if (this.#isStale || version !== this.#dataVersion) {
        this.#forget()
        this.#dataVersion = version
      }
      this.#progress.turn()
      const result = work()
      this.#file.check()
      this.db.exec('COMMIT')
      return result
    } catch (error) {
      this.#isStale = true
      if (this.db.inTransaction) this.db.exec('ROLLBACK')
      this.#forget()
      throw error
    }
  }

  /**
   * Inside `run`: runs a part that may fail separately. If it throws, its writes are undone, `caches` (all that it may have changed) are
   * dropped, and the error is rethrown. The rest of the work may go on.
   */
  attempt<T>(part: () => T, caches: readonly Cached[]): T {
    this.#progress.save()
    this.db.exec('SAVEPOINT part')
    try {
      const result = part()
      this.db.exec('RELEASE part')
      return result
    } catch (error) {
      // If the disk is full, SQLite has rolled back the whole transaction.
      if (this.db.inTransaction) this.db.exec('ROLLBACK TO part; RELEASE part')
      for (const cache of caches) cache.forget()
      this.#progress.load()
      throw error
    }
  }

  alsoForget(cached: Cached): void {
    this.#caches.push(cached)
  }

  /** The next transaction reads everything again. */
  #forget(): void {
    this.#isStale = true
    for (const cache of this.#caches) cache.forget()
    this.#progress.load()
    this.#isStale = false
  }
}

/** Runs work in the writer's transactions, and passes `inside` to it. */
export class SqliteTransactor<Inside> implements Transactor<Inside> {
  readonly #transaction: WriterTransaction
  readonly #inside: Inside

  constructor(transaction: WriterTransaction, inside: Inside) {
    this.#transaction = transaction
    this.#inside = inside
  }

  run<T>(work: (inside: Inside) => T, options?: RunOptions): T {
    return this.#transaction.run(() => work(this.#inside), options)
  }

  with<More, Outside>(
    make: (inside: Inside) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside } {
    const { inside, outside } = make(this.#inside)
    return { transactor: new SqliteTransactor(this.#transaction, inside), outside }
  }

  alsoForget(cached: Cached): void {
    this.#transaction.alsoForget(cached)
  }
}

interface ProgressRow {
  last_arrival: number
  linked_arrival: number
  last_decision: number
  last_log_decision: number
  last_metric_decision: number
  indexed_origins: number
  indexing_origins: number
  indexing_prefix: number
  active_ms: number
  live_cpids: number
  tombstones: number
  unranked_cpids: number
  forgotten_ms: number
  forgotten_episode: number
}

/**
 * The counters that outlive rows, the number of CPIDs, and up time. `activeMs` counts only while Causeway runs, whatever the wall clock
 * does, so that down time settles no trace. Kept in memory during a transaction and written at its end.
 */
export class Progress extends OnConnection {
  wallMs = 0
  activeMs = 0
  lastArrival = 0
  linkedArrival = 0
  lastDecision = 0
  lastLogDecision = 0
  lastMetricDecision = 0
  /** All original traces up to this one are in the index of their ids. */
  indexedOrigins = 0
  /** The last one of the batch that is being indexed, and the first four bytes of the ids that are next. */
  indexingOrigins = 0
  indexingPrefix = 0
  /** CPIDs that are not pruned, and tombstones. */
  liveCpids = 0
  tombstones = 0
  /** CPIDs up to this number are older than the ordering of the graph (ADR-020). */
  unrankedCpids = 0
  forgotten: ForgottenTombstones = { untilMs: 0, nextEpisode: 0 }
  /** New rows that reference scopes. */
  readonly scopeUses: ScopeUses
  readonly #save = this.db.prepare(
    `UPDATE progress SET last_arrival = ?, linked_arrival = ?, last_decision = ?, last_log_decision = ?, last_metric_decision = ?,
         indexed_origins = ?, indexing_origins = ?, indexing_prefix = ?, active_ms = ?, live_cpids = ?, tombstones = ?,
         forgotten_ms = ?, forgotten_episode = ?`,
  )
  readonly #clock: Clock
  #base = 0
  #startedMs: number

  constructor(db: Sqlite, clock: Clock) {
    super(db)
    this.#clock = clock
    this.scopeUses = new ScopeUses(db)
    this.#startedMs = clock.monotonicMs()
    this.load()
  }

  /** Reads the stored values: at startup, after a rollback, and after a write by another process. */
  load(): void {
    const row = this.db
      .prepare<[], ProgressRow>(
        `SELECT last_arrival, linked_arrival, last_decision, last_log_decision, last_metric_decision, indexed_origins, indexing_origins,
           indexing_prefix, active_ms, live_cpids, tombstones, unranked_cpids,
           forgotten_ms, forgotten_episode FROM progress`,
      )
      .get()
    if (row === undefined) throw new Error('the database has no progress row; run causeway migrate')
    this.scopeUses.forget()
    this.lastArrival = row.last_arrival
    this.linkedArrival = row.linked_arrival
    this.lastDecision = row.last_decision
    this.lastLogDecision = row.last_log_decision
    this.lastMetricDecision = row.last_metric_decision
    this.indexedOrigins = row.indexed_origins
    this.indexingOrigins = row.indexing_origins
    this.indexingPrefix = row.indexing_prefix
    this.liveCpids = row.live_cpids
    this.tombstones = row.tombstones
    this.unrankedCpids = row.unranked_cpids
    this.forgotten = { untilMs: row.forgotten_ms, nextEpisode: row.forgotten_episode }
    this.#base = Math.max(row.active_ms, this.activeMs)
    this.#startedMs = this.#clock.monotonicMs()
    this.turn()
  }

  /** Reads the time for the transaction that begins. Times below zero mark what is to be pruned, so a clock before 1970 counts as 1970. */
  turn(): void {
    this.wallMs = Math.max(Math.trunc(this.#clock.wallMs()), 0)
    this.activeMs = this.#base + Math.trunc(this.#clock.monotonicMs() - this.#startedMs)
  }

  nextArrival(): number {
    return ++this.lastArrival
  }

  nextDecision(): number {
    return ++this.lastDecision
  }

  nextLogDecision(): number {
    return ++this.lastLogDecision
  }

  nextMetricDecision(): number {
    return ++this.lastMetricDecision
  }

  save(): void {
    this.scopeUses.save()
    this.#save.run(
      this.lastArrival,
      this.linkedArrival,
      this.lastDecision,
      this.lastLogDecision,
      this.lastMetricDecision,
      this.indexedOrigins,
      this.indexingOrigins,
      this.indexingPrefix,
      this.activeMs,
      this.liveCpids,
      this.tombstones,
      this.forgotten.untilMs,
      this.forgotten.nextEpisode,
    )
  }
}

/** The tables that reference a scope in a column of this name. Each has a trigger that decrements the count when a row is removed. */
const NAMING_SCOPES = ['spans', 'logs', 'mergelogs', 'rejected_mergelogs', 'outbox'] as const

/** Statements of the writer, and how far it has come. */
export abstract class WriterTable extends OnConnection {
  protected readonly progress: Progress

  constructor(db: Sqlite, progress: Progress) {
    super(db)
    this.progress = progress
  }
}

/**
 * Counts new rows that reference scopes (`scopes.uses`): in memory until the end of the transaction, since most reference the same few.
 * All code that adds such a row must count it here: a scope must never count as unused while a row references it.
 */
class ScopeUses extends OnConnection {
  readonly #raise = this.db.prepare('UPDATE scopes SET uses = uses + ? WHERE id = ?')
  readonly #added = new Map<number, number>()
  /** Records of a scope arrive one after another. */
  #last = 0
  #ofLast = 0

  add(scope: number): void {
    if (scope !== this.#last) this.#turnTo(scope)
    this.#ofLast++
  }

  /** Writes what was added since the last call. */
  save(): void {
    this.#turnTo(0)
    if (this.#added.size === 0) return
    for (const [scope, uses] of this.#added) this.#raise.run(uses, scope)
    this.#added.clear()
  }

  /** What was added since the last call was rolled back. */
  forget(): void {
    this.#added.clear()
    this.#last = 0
    this.#ofLast = 0
  }

  #turnTo(scope: number): void {
    if (this.#ofLast > 0) this.#added.set(this.#last, (this.#added.get(this.#last) ?? 0) + this.#ofLast)
    this.#last = scope
    this.#ofLast = 0
  }
}

/** Statements that recount, for a database that was filled by other code. */
export const RECOUNT_SCOPE_USES: readonly string[] = [
  'UPDATE scopes SET uses = 0',
  ...NAMING_SCOPES.map(
    (table) => `UPDATE scopes SET uses = uses + c.n
      FROM (SELECT scope, count(*) AS n FROM ${table} GROUP BY scope) c WHERE c.scope = scopes.id`,
  ),
]
