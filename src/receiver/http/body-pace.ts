/** How often bodies are looked at, in milliseconds. */
const LOOK_MS = 10_000
/** What has to come of a body from one look to the next. */
const MIN_BYTES = 1024

/** A body that is awaited. */
export interface PacedBody {
  /** Bytes that came since it was looked at last. */
  came: number
  isNew: boolean
  readonly giveUp: () => void
}

/**
 * Ends bodies of which hardly anything comes: less than a kilobyte in ten seconds is a sender that is gone, or one that holds
 * on to what others need.
 */
export class BodyPace implements Disposable {
  readonly #bodies = new Set<PacedBody>()
  readonly #timer: NodeJS.Timeout

  constructor(lookMs = LOOK_MS) {
    // What came while this process had no time is read before it is looked at.
    this.#timer = setInterval(() => setImmediate(() => this.look()), lookMs).unref()
  }

  /** Calls `giveUp` when too little comes. */
  begin(giveUp: () => void): PacedBody {
    const body = { came: 0, isNew: true, giveUp }
    this.#bodies.add(body)
    return body
  }

  end(body: PacedBody): void {
    this.#bodies.delete(body)
  }

  /** Looks at all bodies; those that began since it last did have until it does again. */
  look(): void {
    for (const body of this.#bodies) {
      const isTooSlow = !body.isNew && body.came < MIN_BYTES
      body.isNew = false
      body.came = 0
      if (!isTooSlow) continue
      this.#bodies.delete(body)
      body.giveUp()
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
