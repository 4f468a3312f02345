export interface MemoryLimits {
  /** The hard limit: above it garbage is collected whenever that may help. */
  limitBytes: number
  /** How far memory may grow from one look to the next; the soft limit is so much below the hard one. */
  spikeBytes: number
  checkIntervalMs: number
}

export interface MemoryHooks {
  /** How much the process takes now, in bytes. Where it throws, what was read before counts until the next look. */
  read: () => number
  /** Told why memory could not be read. Must not throw. */
  unread?: (reason: unknown) => void
  /** Asks for unused memory to be given back; it may take a while. */
  collect: () => void
  /** Whether nothing is being taken in: then refusing frees nothing. */
  isIdle: () => boolean
  /** Told after every look. Must not throw. */
  looked: (limiter: MemoryLimiter) => void
  nowMs: () => number
}

/** Collecting garbage stops a thread for a while, so it is not done more often. */
const MIN_BETWEEN_COLLECTIONS_MS = 10_000
/** Of the limit: so far below the soft limit memory has to fall before requests are taken again. */
const HYSTERESIS = 0.05

/**
 * Watches the memory of the process, after the Collector's memory limiter: above the soft limit requests are to be refused
 * until memory is clearly below it again. Where nothing is being taken in any more and garbage was collected, what is left
 * is what the process works with: then only the hard limit counts, or requests would be refused for ever. Disposing ends the
 * watch.
 */
export class MemoryLimiter implements Disposable {
  readonly limitBytes: number
  readonly softBytes: number
  readonly #resumeBytes: number
  readonly #hooks: MemoryHooks
  readonly #timer: NodeJS.Timeout
  #usedBytes = 0
  #isRefusing = false
  #collectedMs = -Infinity
  /** Garbage was collected since requests began to be refused. */
  #hasCollected = false

  constructor({ limitBytes, spikeBytes, checkIntervalMs }: MemoryLimits, hooks: MemoryHooks) {
    this.limitBytes = limitBytes
    this.softBytes = limitBytes - spikeBytes
    this.#resumeBytes = this.softBytes - limitBytes * HYSTERESIS
    this.#hooks = hooks
    this.check()
    this.#timer = setInterval(() => this.check(), checkIntervalMs)
    this.#timer.unref()
  }

  /** Whether requests are to be refused before anything of them is read. */
  get isRefusing(): boolean {
    return this.#isRefusing
  }

  /** As of the last look. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Looks at once. */
  check(): void {
    this.#usedBytes = this.#read()
    const isAboveSoft = this.#usedBytes >= this.softBytes
    const isVain = this.#hasCollected && this.#usedBytes < this.limitBytes && this.#hooks.isIdle()
    if (isAboveSoft) this.#collect()
    else if (!this.#isRefusing) this.#hasCollected = false
    const isHigh = isAboveSoft || (this.#isRefusing && this.#usedBytes > this.#resumeBytes)
    this.#isRefusing = isHigh && !isVain
    this.#hooks.looked(this)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #read(): number {
    try {
      return this.#hooks.read()
    } catch (error) {
      this.#hooks.unread?.(error)
      return this.#usedBytes
    }
  }

  #collect(): void {
    const nowMs = this.#hooks.nowMs()
    if (nowMs - this.#collectedMs < MIN_BETWEEN_COLLECTIONS_MS) return
    this.#collectedMs = nowMs
    this.#hasCollected = true
    this.#hooks.collect()
  }
}
