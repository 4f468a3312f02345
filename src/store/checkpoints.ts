import type { WalCheckpointer } from '../model/store-ports.ts'
import { ChildThread } from '../platform/child-thread.ts'

/** 27 MiB of pages to checkpoint: pages that change often are then moved once rather than twice. */
const MOVE_PAGES = 7_000
/** 55 MiB: the log is to be restarted, once the pages written meanwhile are checkpointed too. */
const RENEW_PAGES = 14_000
/** Up to this many remaining pages the writer checkpoints itself; while there are more, the thread tries again, a few times. */
const REST_PAGES = 400
const MAX_PASSES = 4

/** 125 MiB: from here on the writer's own commits checkpoint. */
const LAST_RESORT_PAGES = 32_000

type CheckpointThread = ChildThread<ToCheckpoints, FromCheckpoints>

/** A thread that keeps ending is not restarted more often than this. */
const START_AGAIN_MS = 60_000

export interface CheckpointSettings {
  /** Starts the thread that checkpoints the same database. */
  start: () => CheckpointThread
  /** Called each time the thread ended by itself, with what that means. */
  onEnded?: (reason: string) => void
  /** A clock that never goes back. */
  nowMs: () => number
}

/**
 * Checkpoints the write-ahead log in a thread of its own, so that senders do not wait for it. The writer checkpoints only the
 * remainder, when the log is to be restarted, or everything if the thread fails. The thread is there while the log grows: it is
 * started when there is much to checkpoint, also after it ended by itself.
 */
export class Checkpoints implements AsyncDisposable {
  readonly #log: WalCheckpointer
  readonly #startThread: () => CheckpointThread
  readonly #onEnded: (reason: string) => void
  readonly #nowMs: () => number
  #thread: CheckpointThread | undefined
  /** Resolves when the thread that was told to end has ended. */
  #ended: Promise<unknown> = Promise.resolve()
  #mayStartMs = -Infinity
  #isMoving = false
  /** Checkpoints of the thread since the log is to be restarted. */
  #passes = 0

  /** `log` uses the writer's connection. */
  constructor(log: WalCheckpointer, { start, onEnded, nowMs }: CheckpointSettings) {
    this.#log = log
    this.#startThread = start
    this.#onEnded = onEnded ?? (() => undefined)
    this.#nowMs = nowMs
    log.moveWithCommitsFrom(LAST_RESORT_PAGES)
  }

  /** To be called after commits, outside of transactions. Throws when the writer itself cannot checkpoint the remainder. */
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

  /** Ends the thread, whose heap is the largest part of what it does. A thread that checkpoints stays. */
  rest(): void {
    if (!this.#isMoving) this.#stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop()
    await this.#ended
  }

  /** From LAST_RESORT_PAGES on, commits do the work of a thread that may not be started yet. */
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
