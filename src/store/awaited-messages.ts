import type { ToStore } from './store-messages.ts'

/** The kinds of message for which somebody waits: requests, observations and questions. */
const AWAITED: ReadonlySet<ToStore['kind']> = new Set<ToStore['kind']>([
  'ingest',
  'observe',
  'askKnownObjects',
  'askStreamPosition',
  'catchUp',
  'stop',
])

/**
 * Counts messages to the store thread for which somebody waits, in shared memory. So the store thread sees in the middle of a long step
 * that one was posted; its event loop delivers the message only after the step.
 */
export class AwaitedMessages {
  readonly #posted: Int32Array
  #taken = 0

  /** `posted` is the shared memory, of four bytes. */
  constructor(posted: SharedArrayBuffer) {
    this.#posted = new Int32Array(posted)
  }

  /** Call it before the message is posted. */
  notePosted({ kind }: ToStore): void {
    if (AWAITED.has(kind)) Atomics.add(this.#posted, 0, 1)
  }

  noteTaken({ kind }: ToStore): void {
    if (AWAITED.has(kind)) this.#taken = (this.#taken + 1) | 0
  }

  /** Whether such a message was posted and not delivered yet. */
  get areThere(): boolean {
    return Atomics.load(this.#posted, 0) !== this.#taken
  }
}
