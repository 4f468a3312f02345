import type { Asker } from '../../query/asker.ts'

/** How long somebody's questions are taken for long ones after one of them was. */
const REMEMBERED_MS = 60_000
/** How often one question of a new connection is tried, where its address has asked what took long. */
const TRIED_EVERY_MS = 100
/** Connections that are remembered; of more, those are forgotten that were noted first. */
const MAX_CONNECTIONS = 4_096

/**
 * Remembers whose questions took long of late. Connections of which nothing is known are taken for what their address has
 * shown, but for one now and then: several people may have one address, and nobody is new again by connecting again. One
 * that has asked little stays what it is.
 */
export class CostlyAskers {
  readonly #nowMs: () => number
  /** Until when each connection counts as costly; -Infinity for one that has only asked what was answered soon. */
  readonly #connections = new Map<number, number>()
  readonly #addresses = new Map<string, number>()
  /** When a new connection of such an address was tried last. */
  readonly #tried = new Map<string, number>()

  /** `nowMs`: a clock that never leaps. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  isCostly({ address, connection }: Asker): boolean {
    const nowMs = this.#nowMs()
    const known = this.#connections.get(connection)
    if (known !== undefined) return known > nowMs
    if ((this.#addresses.get(address) ?? -Infinity) <= nowMs) return false
    if (nowMs - (this.#tried.get(address) ?? -Infinity) < TRIED_EVERY_MS) return true
    remember(this.#tried, address, nowMs)
    return false
  }

  /** It asked what took long. */
  tookLong({ address, connection }: Asker): void {
    const untilMs = this.#nowMs() + REMEMBERED_MS
    remember(this.#connections, connection, untilMs)
    remember(this.#addresses, address, untilMs)
  }

  /** It asked what was answered soon. */
  tookLittle({ connection }: Asker): void {
    remember(this.#connections, connection, -Infinity)
  }
}

/** The map keeps the order in which they were noted. */
function remember<Key>(map: Map<Key, number>, key: Key, untilMs: number): void {
  map.delete(key)
  map.set(key, untilMs)
  const [first] = map.keys()
  if (map.size > MAX_CONNECTIONS && first !== undefined) map.delete(first)
}
