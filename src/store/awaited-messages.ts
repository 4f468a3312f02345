import type { ToStore } from './store-messages.ts'

/** The kinds of message that somebody waits for: requests, observations and questions. */
const AWAITED: ReadonlySet<ToStore['kind']> = new Set<ToStore['kind']>([
  'ingest',
  'observe',
  'askKnownObjects',
  'askStreamPosition',
  'catchUp',
  'stop',
])

/**
 * Counts the messages to the store thread that somebody waits for, in memory that both threads share. So the store thread learns in the
 * middle of a long step that one has been posted; its event loop delivers it only after the step.
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

  /** Whether one has been posted that was not delivered yet. */
  get areThere(): boolean {
    return Atomics.load(this.#posted, 0) !== this.#taken
  }
}
