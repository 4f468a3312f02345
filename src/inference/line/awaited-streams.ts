import { nanosOfMs, type UnixNanos } from '../../model/clock.ts'

/** How long what was told may wait for streams that are behind: a server that does not answer keeps no other source from being heard. */
const LONGEST_WAIT_NS = nanosOfMs(10_000)

/** A watch that goes on at once was not behind; one that was away for longer may have much to tell, or say at first that it must list. */
const AT_ONCE_NS = nanosOfMs(200)
const CATCH_UP_NS = nanosOfMs(3_000)
const NOBODY = ''

/**
 * Whether streams of a cluster are behind the others: after a start, and when watches begin anew, versions of one resource come
 * before older ones of another, and would be decided without them.
 */
export class AwaitedStreams {
  readonly #behind = new Set<string>()
  #sinceNs: UnixNanos = 0n
  /** Until when streams that are there again may still tell of what came meanwhile. */
  #untilNs: UnixNanos = 0n

  /** Streams are awaited of which nobody has said anything yet. */
  awaitFirst(nowNs: UnixNanos): void {
    this.report(NOBODY, true, nowNs)
  }

  /** `watcher` has streams that are behind, or none any more. */
  report(watcher: string, isBehind: boolean, nowNs: UnixNanos): void {
    if (watcher !== NOBODY) this.#behind.delete(NOBODY)
    if (!isBehind) {
      const wasBehind = this.#behind.delete(watcher) && this.#behind.size === 0
      if (wasBehind && nowNs - this.#sinceNs > AT_ONCE_NS) this.#untilNs = nowNs + CATCH_UP_NS
    } else {
      if (this.#behind.size === 0) this.#sinceNs = nowNs
      this.#behind.add(watcher)
    }
  }

  areAwaited(nowNs: UnixNanos): boolean {
    if (this.#behind.size > 0) return nowNs - this.#sinceNs < LONGEST_WAIT_NS
    return nowNs < this.#untilNs
  }
}
