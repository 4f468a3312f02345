import type { Asker } from '../../query/asker.ts'

/** How long somebody's questions are taken for long ones after one of them was. */
const REMEMBERED_MS = 60_000
/** Where an address has asked what took long, its new connections together may take one part in so many of the time. */
const PART_OF_NEW = 4
/** Connections that are remembered; of more, those are forgotten that were noted first. */
const MAX_CONNECTIONS = 4_096

/**
 * Remembers whose questions took long of late. The first question of a connection is looked at wherever it comes from, since
 * several people may have one address; but where the address has asked what took long, such questions wait for one another,
 * so that connecting again gains little.
 */
export class CostlyAskers {
  readonly #nowMs: () => number
  /** Until when each connection counts as costly; -Infinity for one that has only asked what was answered soon. */
  readonly #connections = new Map<number, number>()
  readonly #addresses = new Map<string, number>()
  /** From when on the next new connection of an address is looked at, if the address counts as costly. */
  readonly #nextNew = new Map<string, number>()

  /** `nowMs`: a clock that never leaps. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** In how many milliseconds a question may be looked at: 0 for now, Infinity where it is taken for a long one unseen. */
  waitMs({ address, connection }: Asker): number {
    const nowMs = this.#nowMs()
    const costlyUntilMs = this.#connections.get(connection)
    if (costlyUntilMs !== undefined) return costlyUntilMs > nowMs ? Infinity : 0
    if ((this.#addresses.get(address) ?? -Infinity) <= nowMs) return 0
    return Math.max(0, (this.#nextNew.get(address) ?? nowMs) - nowMs)
  }

  /** It asked what was answered soon, or what takes long; to find that out took so many milliseconds. */
  asked({ address, connection }: Asker, what: 'short' | 'long', tookMs: number): void {
    const nowMs = this.#nowMs()
    if (!this.#connections.has(connection)) remember(this.#nextNew, address, nowMs + tookMs * PART_OF_NEW)
    if (what === 'short') {
      remember(this.#connections, connection, -Infinity)
      return
    }
    remember(this.#connections, connection, nowMs + REMEMBERED_MS)
    remember(this.#addresses, address, nowMs + REMEMBERED_MS)
  }
}

/** The map keeps the order in which they were noted. */
function remember<Key>(map: Map<Key, number>, key: Key, untilMs: number): void {
  map.delete(key)
  map.set(key, untilMs)
  const [first] = map.keys()
  if (map.size > MAX_CONNECTIONS && first !== undefined) map.delete(first)
}
