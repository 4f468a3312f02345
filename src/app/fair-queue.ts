/** What waits in a fair queue. */
export interface Queued {
  readonly flow: number
  readonly bytes: { readonly length: number }
}

/** How much a flow may send before it is the next one's turn. */
const QUANTUM_BYTES = 64 * 1024

interface Lane<T> {
  readonly items: T[]
  /** What it may still send in this turn, in bytes; below zero when an item was larger. */
  credit: number
}

/**
 * Serves flows in turn, by bytes (deficit round robin; Shreedhar and Varghese, 1995): however much of one flow waits,
 * the others get their share. A flow that had nothing waiting comes first.
 */
export class FairQueue<T extends Queued> {
  readonly #lanes = new Map<number, Lane<T>>()
  /** The flows that have something waiting, the next one first. */
  readonly #turns: number[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(item: T): void {
    this.#size++
    const lane = this.#lanes.get(item.flow)
    if (lane !== undefined) {
      lane.items.push(item)
      return
    }
    this.#lanes.set(item.flow, { items: [item], credit: 0 })
    this.#turns.unshift(item.flow)
  }

  /** Takes out what is next, at least one item and then as many as fit within so many bytes. */
  take(maxBytes: number): T[] {
    const taken: T[] = []
    let left = maxBytes
    while (this.#size > 0 && left > 0) {
      const flow = this.#turns[0]
      const lane = flow === undefined ? undefined : this.#lanes.get(flow)
      if (flow === undefined || lane === undefined) break
      const next = lane.items[0]
      if (next === undefined) {
        this.#turns.shift()
        this.#lanes.delete(flow)
      } else if (lane.credit <= 0) {
        lane.credit += QUANTUM_BYTES
        this.#turns.push(...this.#turns.splice(0, 1))
      } else {
        if (taken.length > 0 && next.bytes.length > left) break
        lane.items.shift()
        lane.credit -= next.bytes.length
        left -= next.bytes.length
        this.#size--
        taken.push(next)
      }
    }
    return taken
  }
}
