import type { Sqlite } from './open-database.ts'
import type { Progress } from './progress.ts'

/** Something that caches rows and must forget them when they may have changed behind its back. */
export interface Cached {
  forget(): void
}

export interface Caches {
  /** What caches rows that pruning may remove. */
  readonly rows: readonly Cached[]
  /** What hears of pruning itself. */
  readonly own: readonly Cached[]
}

/**
 * Runs each piece of the writer's work in a transaction of its own. After a rollback, or when another process wrote
 * to the file, everything cached is forgotten first.
 */
export class WriterTransaction {
  readonly #db: Sqlite
  readonly #progress: Progress
  readonly #caches: Caches
  #dataVersion: unknown

  constructor(db: Sqlite, progress: Progress, caches: Caches) {
    this.#db = db
    this.#progress = progress
    this.#caches = caches
    this.#dataVersion = this.#version()
  }

  /** Runs `work` and commits; on a throw rolls back and throws on. */
  run<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const version = this.#version()
      if (version !== this.#dataVersion) {
        this.#forget()
        this.#dataVersion = version
      }
      this.#progress.turn()
      const result = work()
      this.#progress.save()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      this.#forget()
      throw error
    }
  }

  /** Drops what pruning may have removed; the next transaction reads it again. */
  forgetRows(): void {
    for (const cache of this.#caches.rows) cache.forget()
    this.#progress.load()
  }

  #forget(): void {
    this.forgetRows()
    for (const cache of this.#caches.own) cache.forget()
  }

  /** Changes when another connection commits, not when this one does. */
  #version(): unknown {
    return this.#db.pragma('data_version', { simple: true })
  }
}
