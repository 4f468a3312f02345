import type { WalCheckpointer } from '../model/store-ports.ts'
import { ChildThread } from '../platform/child-thread.ts'

/** 27 MiB of pages that are not in the database yet: a page that changes often is then moved once rather than twice. */
const MOVE_PAGES = 7_000
/** 55 MiB: the next commit begins the log anew, if what was written meanwhile is moved too. */
const RENEW_PAGES = 14_000
/** So little of that the writer moves itself; while there is more, the thread goes over it once more, a few times. */
const REST_PAGES = 400
const MAX_PASSES = 4

/** 125 MiB: the writer's own commits move the log, should nobody else. */
const LAST_RESORT_PAGES = 32_000

type CheckpointThread = ChildThread<ToCheckpoints, FromCheckpoints>

/** A thread that ends again and again is not started more often than that. */
const START_AGAIN_MS = 60_000

export interface CheckpointSettings {
  /** Starts the thread that moves the log of the same database. */
  start: () => CheckpointThread
  /** Told what it means each time the thread ended by itself. */
  onEnded?: (reason: string) => void
  /** A clock that never goes back. */
  nowMs: () => number
}

/**
 * Has the write-ahead log moved into the database by a thread of its own, so that senders do not wait for it. The writer
 * moves only what the thread left behind, when the log is to begin anew; where the thread fails, all of it. A thread that
 * ended by itself is followed by another.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #log: WalCheckpointer
  readonly #startThread: () => CheckpointThread
  readonly #onEnded: (reason: string) => void
  readonly #nowMs: () => number
  /** Undefined while it has ended and none has followed yet. */
  #thread: CheckpointThread | undefined
  #startedMs = 0
  #isStopping = false
  #isMoving = false
  /** How often the thread has gone over a log that is to begin anew. */
  #passes = 0

  /** `log` is moved on the writer's connection. */
  constructor(log: WalCheckpointer, { start, onEnded, nowMs }: CheckpointSettings) {
    this.#log = log
    this.#startThread = start
    this.#onEnded = onEnded ?? (() => undefined)
    this.#nowMs = nowMs
    log.moveWithCommitsFrom(LAST_RESORT_PAGES)
    this.#thread = this.#start()
  }

  /** To be called after commits, outside of transactions. Throws when the writer itself cannot move what is left. */
  look(): void {
    if (this.#isMoving) return
    const thread = this.#thread ?? this.#startAgain()
    if (thread === undefined) return
    const { log, checkpointed } = this.#log.pages()
    const left = log - checkpointed
    const isLong = log >= RENEW_PAGES
    if (isLong && this.#passes > 0 && (left <= REST_PAGES || this.#passes >= MAX_PASSES)) {
      this.#passes = 0
      this.#log.move()
    } else if (left >= (isLong && this.#passes > 0 ? REST_PAGES : MOVE_PAGES)) {
      this.#isMoving = true
      this.#passes = isLong ? this.#passes + 1 : 0
      thread.post('move')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    if (this.#thread === undefined) return
    this.#thread.post('stop')
    await this.#thread.ended
  }

  #start(): CheckpointThread {
    this.#startedMs = this.#nowMs()
    const thread = this.#startThread()
    thread.listen((message) => {
      this.#isMoving = false
      if (message === 'failed') this.#passes = MAX_PASSES
    })
    void thread.ended.then((why) => this.#end(why))
    return thread
  }

  /** Undefined while the one that ended is not long ago: from LAST_RESORT_PAGES on, commits do its work meanwhile. */
  #startAgain(): CheckpointThread | undefined {
    if (this.#isStopping || this.#nowMs() - this.#startedMs < START_AGAIN_MS) return undefined
    return (this.#thread = this.#start())
  }

  #end(why: string): void {
    this.#thread = undefined
    this.#isMoving = false
    this.#passes = 0
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

export interface CheckpointThreadData {
  path: string
}

/** `move`: copy what lies in the write-ahead log into the database. */
export type ToCheckpoints = 'move' | 'stop'

export type FromCheckpoints = 'moved' | 'failed'

/** Starts a thread that moves the write-ahead log of the database at `path`. */
export function startCheckpointThread(path: string): CheckpointThread {
  return new ChildThread({
    name: 'checkpoint',
    file: new URL('./checkpoint-thread.ts', import.meta.url),
    data: { path } satisfies CheckpointThreadData,
    youngMib: 2,
    oldMib: 64,
  })
}
