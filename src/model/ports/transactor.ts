/** Something that keeps rows in memory and must forget them when they may have changed behind its back. */
export interface Cached {
  forget(): void
}

export interface RunOptions {
  /** Where it turns out that nothing was written, nothing is committed, and the disk not waited for. */
  mayOnlyRead?: boolean
}

/**
 * Runs work in transactions, and hands it what may be used in one alone: whoever has only this can write nowhere else.
 * `Inside` is made once, so that a transaction makes no objects.
 */
export interface Transactor<Inside> {
  /** Runs `work` and commits; on a throw rolls back, has all that is cached forgotten, and throws on. */
  run<T>(work: (inside: Inside) => T, options?: RunOptions): T
  /**
   * The same transactions, which hand out what `make` makes of what is handed out here, and what of it may be used at any time:
   * that must neither read nor write what is stored.
   */
  with<More, Outside>(
    make: (inside: Inside) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside }
  /** Has something more forgotten after a rollback, and when another process wrote. */
  alsoForget(cached: Cached): void
}
