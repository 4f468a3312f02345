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

/** 125 MiB: the writer's own commits move the log, should nobody else. */
const LAST_RESORT_PAGES = 32_000

/** A thread that ends again and again is not started more often than that. */
const START_AGAIN_MS = 60_000

export interface CheckpointSettings {
  /** Told what it means each time the thread ended by itself. */
  onEnded?: (reason: string) => void
  /** A clock that never leaps; the process's unless given. */
  nowMs?: () => number
}

/**
 * Has the write-ahead log moved into the database by a thread of its own, so that senders do not wait for it. The writer
 * moves only what the thread left behind, when the log is to begin anew; where the thread fails, all of it. A thread that
 * ended by itself is followed by another.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #db: Sqlite
  readonly #state: () => WalState
  readonly #onEnded: (reason: string) => void
  readonly #nowMs: () => number
  /** Undefined while it has ended and none has followed yet. */
  #worker: Worker | undefined
  #startedMs = 0
  #ended = Promise.withResolvers<undefined>()
  #isStopping = false
  #isMoving = false
  /** How often the thread has gone over a log that is to begin anew. */
  #passes = 0

  constructor(db: Sqlite, { onEnded, nowMs }: CheckpointSettings = {}) {
    this.#db = db
    this.#state = walStateOf(db)
    this.#onEnded = onEnded ?? (() => undefined)
    this.#nowMs = nowMs ?? (() => performance.now())
    db.pragma(`wal_autocheckpoint = ${LAST_RESORT_PAGES}`)
    this.#worker = this.#start()
  }

  /** To be called after commits, outside of transactions. Throws when the writer itself cannot move what is left. */
  look(): void {
    if (this.#isMoving) return
    const worker = this.#worker ?? this.#startAgain()
    if (worker === undefined) return
    const { log, checkpointed } = this.#state()
    const left = log - checkpointed
    const isLong = log >= RENEW_PAGES
    if (isLong && this.#passes > 0 && (left <= REST_PAGES || this.#passes >= MOST_PASSES)) {
      this.#passes = 0
      moveWal(this.#db)
    } else if (left >= (isLong && this.#passes > 0 ? REST_PAGES : MOVE_PAGES)) {
      this.#isMoving = true
      this.#passes = isLong ? this.#passes + 1 : 0
      worker.postMessage('move' satisfies ToCheckpoints)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    if (this.#worker === undefined) return
    this.#worker.postMessage('stop' satisfies ToCheckpoints)
    await this.#ended.promise
  }

  #start(): Worker {
    this.#startedMs = this.#nowMs()
    this.#ended = Promise.withResolvers()
    const worker = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
      workerData: { path: this.#db.name } satisfies CheckpointThreadData,
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 },
    })
    let fault: string | undefined
    worker.on('message', (message: FromCheckpoints) => {
      this.#isMoving = false
      if (message === 'failed') this.#passes = MOST_PASSES
    })
    worker.on('error', (error) => (fault = error instanceof Error ? error.message : String(error)))
    worker.on('exit', (code) => this.#end(fault ?? `exit code ${code}`))
    return worker
  }

  /** Undefined while the one that ended is not long ago: from LAST_RESORT_PAGES on, commits do its work meanwhile. */
  #startAgain(): Worker | undefined {
    if (this.#isStopping || this.#nowMs() - this.#startedMs < START_AGAIN_MS) return undefined
    return (this.#worker = this.#start())
  }

  #end(why: string): void {
    this.#worker = undefined
    this.#isMoving = false
    this.#passes = 0
    this.#ended.resolve(undefined)
    if (!this.#isStopping) this.#onEnded(endedText(why))
  }
}

function endedText(why: string): string {
  return (
    `the thread that moves the write-ahead log into the database ended by itself (${why}); nothing is lost, and another ` +
    'follows within a minute of work; until then the log gets longer, and from 125 MiB on commits move it themselves, which ' +
    'takes them longer'
  )
}
