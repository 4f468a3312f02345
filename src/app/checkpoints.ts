import { Worker } from 'node:worker_threads'
import { moveWal, walStateOf, type WalState } from '../sqlite/wal-checkpoint.ts'
import type { Sqlite } from '../sqlite/open-database.ts'
import type { CheckpointThreadData, FromCheckpoints, ToCheckpoints } from './checkpoint-messages.ts'

/** 27 MiB of pages that are not in the database yet: a page that changes often is then moved once rather than twice. */
const MOVE_PAGES = 7_000
/** 55 MiB: the next commit begins the log anew, if what was written meanwhile is moved too. */
const RENEW_PAGES = 14_000
/** So little of that the writer moves itself; while there is more, the thread goes over it once more, a few times. */
const REST_PAGES = 400
const MOST_PASSES = 4

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
  readonly #ended = Promise.withResolvers<undefined>()
  #isMoving = false
  /** How often the thread has gone over a log that is to begin anew. */
  #passes = 0

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
      if (message === 'failed') this.#passes = MOST_PASSES
    })
    // A thread that is gone moves nothing more: from LAST_RESORT_PAGES on, commits do.
    this.#worker.on('error', () => undefined)
    this.#worker.on('exit', () => this.#ended.resolve(undefined))
  }

  /** To be called after commits, outside of transactions. Throws when the writer itself cannot move what is left. */
  look(): void {
    if (this.#isMoving) return
    const { log, checkpointed } = this.#state()
    const left = log - checkpointed
    const isLong = log >= RENEW_PAGES
    if (isLong && this.#passes > 0 && (left <= REST_PAGES || this.#passes >= MOST_PASSES)) {
      this.#passes = 0
      moveWal(this.#db)
    } else if (left >= (isLong && this.#passes > 0 ? REST_PAGES : MOVE_PAGES)) {
      this.#isMoving = true
      this.#passes = isLong ? this.#passes + 1 : 0
      this.#worker.postMessage('move' satisfies ToCheckpoints)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#worker.postMessage('stop' satisfies ToCheckpoints)
    await this.#ended.promise
  }
}
