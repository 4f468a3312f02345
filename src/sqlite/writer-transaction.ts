import type { Statement } from 'better-sqlite3'
import type { Cached, RunOptions, Transactor } from '../model/ports/transactor.ts'
import type { Sqlite } from './open-database.ts'
import type { Progress } from './progress.ts'

/**
 * Runs each piece of the writer's work in a transaction of its own. After a rollback, or when another process wrote
 * to the file, everything cached is forgotten first.
 */
export class WriterTransaction {
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #caches: Cached[]
  readonly #changes: Statement<[], number>
  #dataVersion: unknown
  /** What was to be forgotten could not be read anew; it is before the next transaction. */
  #isStale = false
  /** Transactions are parts of one that is open, and one of them runs. */
  #isTogether = false
  #isInPart = false

  constructor(db: Sqlite, progress: Progress, caches: readonly Cached[]) {
    this.#db = db
    this.#progress = progress
    this.#caches = [...caches]
    this.#changes = db.prepare<[], number>('SELECT total_changes()').pluck()
    this.#dataVersion = this.#version()
  }

  /**
   * Runs `work` and commits; on a throw rolls back and throws on. With `mayOnlyRead` nothing is committed, and the disk not
   * waited for, when it turns out that nothing was written.
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
   * Commits all that `run` does meanwhile at once, or nothing of it. What throws in one `run` is undone by itself, as ever; what
   * `work` throws undoes all. Up time goes on to the end of it.
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
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const version = this.#version()
      if (this.#isStale || version !== this.#dataVersion) {
        this.#forget()
        this.#dataVersion = version
      }
      this.#progress.turn()
      const result = work()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      this.#isStale = true
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      this.#forget()
      throw error
    }
  }

  /**
   * Inside `run`: does a part of its work that may fail by itself. On a throw what the part wrote is undone, and `caches`, all
   * that it may have changed, forget it; then it throws on, and the rest of the work may go on.
   */
  attempt<T>(part: () => T, caches: readonly Cached[]): T {
    this.#progress.save()
    this.#db.exec('SAVEPOINT part')
    try {
      const result = part()
      this.#db.exec('RELEASE part')
      return result
    } catch (error) {
      // Where the disk is full SQLite has rolled all of it back.
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK TO part; RELEASE part')
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

  /** Changes when another connection commits, not when this one does. */
  #version(): unknown {
    return this.#db.pragma('data_version', { simple: true })
  }
}

/** Runs work in the writer's transactions, and hands it `inside`. */
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
