import type { CommittedMark, LogLength } from '../../model/ports/write-ahead-log.ts'
import { MIB } from '../../model/sizes.ts'
import type { FromStore } from '../../threads/thread-messages.ts'
import type { StorageGuard } from './storage-guard.ts'

/** From here on someone is told who makes the write-ahead log grow. */
const WARN_BYTES = 256 * MIB

const HELD =
  `the write-ahead log of the database has grown past ${WARN_BYTES / MIB} MiB, since a program reads the database ` +
  'without an end; end that program (fuser -v on the database names it), and the log gets short again by itself'

export interface LogUpkeepParts {
  wal: LogLength
  /** Without it the commits themselves move the write-ahead log into the database. */
  checkpoints?: { look(): void } | undefined
  /** Without it a log that is gone after a kill is not noticed. */
  mark?: CommittedMark | undefined
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** When the write-ahead log is moved into the database, and when it is shortened. */
export class LogUpkeep {
  readonly #parts: LogUpkeepParts

  constructor(parts: LogUpkeepParts) {
    this.#parts = parts
  }

  /** To be called after commits. */
  move(): void {
    const { checkpoints, guard } = this.#parts
    if (checkpoints !== undefined)
      guard.run('moving the write-ahead log into the database', () => checkpoints.look())
  }

  /** Says beside the database how many arrivals it holds, to be called outside of transactions. */
  note(arrivals: number): void {
    this.#parts.mark?.write(arrivals)
  }

  /** Shortens it while nobody waits, or when it has grown very long. */
  shorten(isBusy: boolean): void {
    const { wal, guard, post } = this.#parts
    guard.run('shortening the write-ahead log', () => {
      if (isBusy && wal.bytes() < WARN_BYTES) return
      if (wal.shorten() === 'held' && wal.bytes() >= WARN_BYTES) post({ kind: 'notice', reason: HELD })
    })
  }
}
