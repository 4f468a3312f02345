import type { ForgottenTombstones } from '../../model/merge-graph.ts'
import type { Cached, RunOptions, Transactor } from '../../model/store-ports.ts'
import type { Clock } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { OpenedFile } from './opened-file.ts'

/** Runs each piece of the writer's work in a transaction. After a rollback, or a write by another process, all caches are dropped first. */
export class WriterTransaction extends OnConnection {
  readonly #file: OpenedFile
  readonly #progress: Progress
  readonly #caches: Cached[]
  readonly #changes = this.column<[], number>('SELECT total_changes()')
  /** Changes when another connection commits, but not when this one does. */
  readonly #readVersion = this.column<[], number>('PRAGMA data_version')
  #dataVersion: number | undefined
  /** Whether the caches have to be dropped before the next transaction, since an attempt failed. */
  #isStale = false
  /** Whether transactions currently run as parts of one commit. */
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
   * Runs `work` and commits. If it throws, rolls back and rethrows. With `mayOnlyRead`, skips the commit, and the wait for the disk, if
   * nothing was written.
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
   * Commits everything that calls of `run` within `work` write, together. An error in a `run` rolls back only that one; an error in `work`
   * rolls back everything. Up time advances at the end.
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
   * Call it inside `run`: runs a part in a savepoint. If it throws, its writes are rolled back, `caches` (all that it may have changed) are
   * dropped, and the error is rethrown. The rest of the work may continue.
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

  /** Drops all caches. */
  #forget(): void {
    this.#isStale = true
    for (const cache of this.#caches) cache.forget()
    this.#progress.load()
    this.#isStale = false
  }
}

/** Runs work in the writer's transactions, and passes it `inside`. */
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

/** The columns whose values are counters, by their fields. */
const COUNTERS = {
  lastArrival: 'last_arrival',
  linkedArrival: 'linked_arrival',
  lastDecision: 'last_decision',
  lastLogDecision: 'last_log_decision',
  lastMetricDecision: 'last_metric_decision',
  indexedOrigins: 'indexed_origins',
  indexingOrigins: 'indexing_origins',
  indexingPrefix: 'indexing_prefix',
  liveCpids: 'live_cpids',
  tombstones: 'tombstones',
} as const
type Counter = keyof typeof COUNTERS
const COLUMNS = Object.entries({
  ...COUNTERS,
  ...{ activeMs: 'active_ms', untilMs: 'forgotten_ms', nextEpisode: 'forgotten_episode' },
})

type ProgressRow = Record<Counter | 'activeMs' | 'unrankedCpids', number> & ForgottenTombstones

/**
 * Counters that outlive rows, the number of CPIDs, and up time. `activeMs` advances only while Causeway runs, whatever the wall clock does,
 * so that no trace settles during downtime. Kept in memory and saved at the end of each transaction.
 */
export class Progress extends OnConnection {
  wallMs = 0
  activeMs = 0
  lastArrival = 0
  linkedArrival = 0
  lastDecision = 0
  lastLogDecision = 0
  lastMetricDecision = 0
  /** All original traces up to this one are in the index of trace ids. */
  indexedOrigins = 0
  /** The last original trace of the batch that is being indexed, and the next prefix (four bytes of a trace id). */
  indexingOrigins = 0
  indexingPrefix = 0
  /** The numbers of live CPIDs and of tombstones. */
  liveCpids = 0
  tombstones = 0
  /** CPIDs up to this id are from before the graph was ordered (ADR-020). */
  unrankedCpids = 0
  forgotten: ForgottenTombstones = { untilMs: 0, nextEpisode: 0 }
  /** Counts new rows that refer to scopes. */
  readonly scopeUses: ScopeUses
  readonly #save = this.db.prepare(
    `UPDATE progress SET ${COLUMNS.map(([field, column]) => `${column} = @${field}`).join(', ')}`,
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
        `SELECT ${COLUMNS.map(([field, column]) => `${column} AS ${field}`).join(', ')}, unranked_cpids AS unrankedCpids FROM progress`,
      )
      .get()
    if (row === undefined) throw new Error('the database has no progress row; run causeway migrate')
    this.scopeUses.forget()
    const { activeMs, untilMs, nextEpisode, ...counters } = row
    Object.assign(this, counters)
    this.forgotten = { untilMs, nextEpisode }
    this.#base = Math.max(activeMs, this.activeMs)
    this.#startedMs = this.#clock.monotonicMs()
    this.turn()
  }

  /** Reads the clock for a new transaction. Negative times mark CPIDs for removal, so a clock before 1970 counts as 1970. */
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
    const { activeMs, forgotten } = this
    const counters = (Object.keys(COUNTERS) as Counter[]).map((field) => [field, this[field]] as const)
    this.#save.run({ ...Object.fromEntries(counters), activeMs, ...forgotten })
  }
}

/** Tables with a column of this name that refers to a scope. Each has a trigger that decrements the count when a row is removed. */
const NAMING_SCOPES = ['spans', 'logs', 'mergelogs', 'rejected_mergelogs', 'outbox'] as const

/** A table of the writer, with access to its progress. */
export abstract class WriterTable extends OnConnection {
  protected readonly progress: Progress

  constructor(db: Sqlite, progress: Progress) {
    super(db)
    this.progress = progress
  }
}

/**
 * Counts new rows that refer to scopes (`scopes.uses`), in memory until the end of the transaction, since most refer to the same few. All
 * code that adds such a row must count it here: a scope must never count as unused while a row refers to it.
 */
class ScopeUses extends OnConnection {
  readonly #raise = this.db.prepare('UPDATE scopes SET uses = uses + ? WHERE id = ?')
  readonly #added = new Map<number, number>()
  /** A cache of one, since records of a scope arrive in succession. */
  #last = 0
  #ofLast = 0

  add(scope: number): void {
    if (scope !== this.#last) this.#turnTo(scope)
    this.#ofLast++
  }

  /** Saves the counts since the last call. */
  save(): void {
    this.#turnTo(0)
    if (this.#added.size === 0) return
    for (const [scope, uses] of this.#added) this.#raise.run(uses, scope)
    this.#added.clear()
  }

  /** Drops the counts since the last call, after a rollback. */
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

/** Statements that recount everything, for a database that other code has filled. */
export const RECOUNT_SCOPE_USES: readonly string[] = [
  'UPDATE scopes SET uses = 0',
  ...NAMING_SCOPES.map(
    (table) => `UPDATE scopes SET uses = uses + c.n
      FROM (SELECT scope, count(*) AS n FROM ${table} GROUP BY scope) c WHERE c.scope = scopes.id`,
  ),
]
