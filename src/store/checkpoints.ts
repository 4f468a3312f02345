import type { WalCheckpointer } from '../model/store-ports.ts'
import { ChildThread } from '../platform/child-thread.ts'

/** 27 MiB: the thread starts a checkpoint. With fewer, pages that change often would be checkpointed more often. */
const MOVE_PAGES = 7_000
/** 55 MiB: the log is reset once all its pages are checkpointed. */
const RENEW_PAGES = 14_000
/** The writer checkpoints at most this many remaining pages itself. While there are more, the thread tries again. */
const REST_PAGES = 400
const MAX_PASSES = 4

/** 125 MiB: from here on the writer's commits checkpoint by themselves. */
const LAST_RESORT_PAGES = 32_000

type CheckpointThread = ChildThread<ToCheckpoints, FromCheckpoints>

/** A thread that keeps ending is restarted no sooner than after this time. */
const START_AGAIN_MS = 60_000

export interface CheckpointSettings {
  /** Starts the thread that checkpoints the database. */
  start: () => CheckpointThread
  /** Called with the consequence each time the thread ended unexpectedly. */
  onEnded?: (reason: string) => void
  /** A monotonic clock. */
  nowMs: () => number
}

/**
 * Checkpoints the write-ahead log in a thread of its own, so that senders do not wait. The writer only checkpoints the remainder before the
 * log is reset, or everything if the thread fails. The thread runs only while the log grows; it is started when there is much to
 * checkpoint, also after it ended unexpectedly.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #log: WalCheckpointer
  readonly #startThread: () => CheckpointThread
  readonly #onEnded: (reason: string) => void
  readonly #nowMs: () => number
  #thread: CheckpointThread | undefined
  /** Resolves when the stopped thread has ended. */
  #ended: Promise<unknown> = Promise.resolve()
  #mayStartMs = -Infinity
  #isMoving = false
  /** The thread's checkpoints since the log became due for a reset. */
  #passes = 0

  /** `log` uses the writer's connection. */
  constructor(log: WalCheckpointer, { start, onEnded, nowMs }: CheckpointSettings) {
    this.#log = log
    this.#startThread = start
    this.#onEnded = onEnded ?? (() => undefined)
    this.#nowMs = nowMs
    log.moveWithCommitsFrom(LAST_RESORT_PAGES)
  }

  /** Call it after commits, outside transactions. Throws if the writer cannot checkpoint the remainder. */
  look(): void {
    if (this.#isMoving) return
    const { log, checkpointed } = this.#log.pages()
    const left = log - checkpointed
    const isLong = log >= RENEW_PAGES
    if (isLong && this.#passes > 0 && (left <= REST_PAGES || this.#passes >= MAX_PASSES)) {
      this.#passes = 0
      this.#log.move()
    } else if (left >= (isLong && this.#passes > 0 ? REST_PAGES : MOVE_PAGES)) this.#move(isLong)
  }

  /** Ends an idle thread, since its heap is its largest cost. A thread that is checkpointing stays. */
  rest(): void {
    if (!this.#isMoving) this.#stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop()
    await this.#ended
  }

  /** While the thread may not be restarted, commits checkpoint from LAST_RESORT_PAGES on. */
  #move(isLong: boolean): void {
    if (this.#thread === undefined && this.#nowMs() < this.#mayStartMs) return
    this.#thread ??= this.#start()
    this.#isMoving = true
    this.#passes = isLong ? this.#passes + 1 : 0
    this.#thread.post('move')
  }

  #start(): CheckpointThread {
    const startedMs = this.#nowMs()
    const thread = this.#startThread()
    thread.listen((message) => {
      this.#isMoving = false
      if (message === 'failed') this.#passes = MAX_PASSES
    })
    void thread.ended.then((why) => {
      if (this.#thread !== thread) return
      this.#thread = undefined
      this.#isMoving = false
      this.#passes = 0
      this.#mayStartMs = startedMs + START_AGAIN_MS
      this.#onEnded(endedText(why))
    })
    return thread
  }

  #stop(): void {
    if (this.#thread === undefined) return
    this.#ended = Promise.all([this.#ended, this.#thread.ended])
    this.#thread.post('stop')
    this.#thread = undefined
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

/** `move`: checkpoint. */
export type ToCheckpoints = 'move' | 'stop'

export type FromCheckpoints = 'moved' | 'failed'

/** Starts the checkpoint thread of the database at `path`. */
export function startCheckpointThread(path: string): CheckpointThread {
  return new ChildThread({
    name: 'checkpoint',
    file: new URL('./checkpoint-thread.ts', import.meta.url),
    data: { path } satisfies CheckpointThreadData,
    youngMib: 2,
    oldMib: 64,
  })
}
