import { LeftOut, type Change, type ResourceFollower, type Seen } from '../../cluster/resource-follower.ts'
import type { JsonObject } from '../../kubernetes/json-access.ts'
import { readEvent } from '../../kubernetes/read-event.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { Skipped } from '../../model/kubernetes/observation.ts'
import type { ClusterEvent } from '../../model/kubernetes/cluster-event.ts'
import type { StreamReporter } from '../clusters/stream-reporter.ts'

/** Tells of every Event that comes, and of every time that one comes again. */
export class EventFollower implements ResourceFollower<ClusterEvent> {
  readonly #teller: StreamReporter
  readonly #now: () => UnixNanos
  readonly #signal: AbortSignal
  #skipped: Partial<Record<Skipped, number>> = {}

  constructor(teller: StreamReporter, now: () => UnixNanos, signal: AbortSignal) {
    this.#teller = teller
    this.#now = now
    this.#signal = signal
  }

  position(): Promise<string | undefined> {
    return this.#teller.position()
  }

  read(change: Change, object: JsonObject, seen: Seen): ClusterEvent | undefined {
    // Events go an hour after they came. What was there before anybody looked is about writes that nobody saw.
    const isNew = change !== 'DELETED' && seen !== 'first list'
    const read = isNew ? readEvent(object, this.#now()) : 'event'
    if (read === 'unversioned')
      throw new LeftOut('its resourceVersions are no integers, by which one is known from the next')
    if (typeof read !== 'string') return read
    this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
    return undefined
  }

  listBegins(): void {
    // Each is told of as it comes: nothing is noted of a list.
  }

  async take(items: readonly ClusterEvent[], version: string | undefined): Promise<void> {
    const skipped = this.#skipped
    this.#skipped = {}
    const position = version === undefined ? {} : { position: version }
    const isStored = await this.#teller.tellUntilStored(
      { observations: items, skipped, ...position },
      this.#signal,
    )
    if (!isStored) this.#signal.throwIfAborted()
  }

  async listEnds(version: string): Promise<void> {
    await this.take([], version)
  }
}
