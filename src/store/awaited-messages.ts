import type { ToStore } from './store-messages.ts'

/** Requests, observations and questions: somebody waits until the store thread has taken them. */
const AWAITED: ReadonlySet<ToStore['kind']> = new Set<ToStore['kind']>([
  'ingest',
  'observe',
  'askKnownObjects',
  'askStreamPosition',
  'catchUp',
  'stop',
])

/**
 * Counts messages that somebody waits for, in memory that both threads share: the store thread sees in the middle of its work that one has
 * come, which its event loop tells only afterwards.
 */
export class AwaitedMessages {
  readonly #posted: Int32Array
  #taken = 0

  /** `posted` is the shared memory, of four bytes. */
  constructor(posted: SharedArrayBuffer) {
    this.#posted = new Int32Array(posted)
  }

  /** To be called before the message is posted. */
  notePosted({ kind }: ToStore): void {
    if (AWAITED.has(kind)) Atomics.add(this.#posted, 0, 1)
  }

  noteTaken({ kind }: ToStore): void {
    if (AWAITED.has(kind)) this.#taken = (this.#taken + 1) | 0
  }

  /** Whether one was posted that was not taken yet. */
  get areThere(): boolean {
    return Atomics.load(this.#posted, 0) !== this.#taken
  }
}
