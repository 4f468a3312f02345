import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { moveWal, walStateOf, type WalState } from '../sqlite/wal-checkpoint.ts'
import type { Sqlite } from '../sqlite/open-database.ts'
import type { CheckpointThreadData, FromCheckpoints, ToCheckpoints } from './checkpoint-messages.ts'

/** 16 MiB of pages that are not in the database yet. */
const MOVE_PAGES = 4_000
/** 48 MiB: the next commit begins the log anew, if the little that was written meanwhile is moved too. */
const RENEW_PAGES = 12_000

/** 128 MiB: the writer's own commits move the log, should nobody else. */
const LAST_RESORT_PAGES = 32_000

/**
 * Has the write-ahead log moved into the database by a thread of its own, so that senders do not wait for it. The writer
 * moves only what the thread left behind, when the log is to begin anew; where the thread fails, all of it.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #db: Sqlite
  readonly #state: () => WalState
  readonly #worker: Worker
  #isMoving = false
  #isRenewalDue = false

  constructor(db: Sqlite) {
    this.#db = db
    this.#state = walStateOf(db)
    db.pragma(`wal_autocheckpoint = ${LAST_RESORT_PAGES}`)
    this.#worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      workerData: { path: db.name } satisfies CheckpointThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
    })
    this.#worker.on('message', (message: FromCheckpoints) => {
      this.#isMoving = false
      this.#isRenewalDue ||= message === 'failed'
    })
    this.#worker.on('error', () => {
      this.#isMoving = false
    })
  }

  /** To be called after commits, outside of transactions. Throws when the writer itself cannot move what is left. */
  look(): void {
    if (this.#isMoving) return
    const { log, checkpointed } = this.#state()
    if (this.#isRenewalDue) {
      this.#isRenewalDue = false
      if (log >= RENEW_PAGES) moveWal(this.#db)
    } else if (log - checkpointed >= MOVE_PAGES) {
      this.#isMoving = true
      this.#isRenewalDue = log >= RENEW_PAGES
      this.#worker.postMessage('move' satisfies ToCheckpoints)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#worker.threadId === -1) return
    const ended = once(this.#worker, 'exit')
    this.#worker.postMessage('stop' satisfies ToCheckpoints)
    await ended
  }
}
