/** What became of a write-ahead log: nothing to do, it was shortened, or a reader keeps it from that. */
export type LogShortened = 'short' | 'shortened' | 'held'

/** How long the write-ahead log of the database is; to be asked and shortened outside of transactions. */
export interface LogLength {
  /** How long the log is; 0 for a database in memory. */
  bytes(): number
  /** What is free on its disk for whoever runs this, in bytes. */
  freeBytes(): number
  /** Shortens a log that has grown long. Waits for no reader, since senders wait for the writer. */
  shorten(): LogShortened
}

/** Says beside the database how many arrivals it holds. */
export interface CommittedMark {
  /** So many arrivals are committed. */
  write(arrivals: number): void
}

/** Pages in the write-ahead log, and how many of them are in the database already. */
export interface LogPages {
  readonly log: number
  readonly checkpointed: number
}

/** Moves the write-ahead log into the database, on a connection of its own or on the writer's, outside of transactions. */
export interface LogMover {
  /** Asks how long the log is, and moves nothing. */
  pages(): LogPages
  /** Copies as much of the log into the database as nobody reads an older state than; waits for nobody. */
  move(): void
  /** Commits move the log by themselves once it is that long. */
  moveWithCommitsFrom(pages: number): void
}
