import type { Clock } from './clock.ts'

interface Alarm {
  readonly atMs: number
  readonly order: number
  readonly ring: () => void
}

/** The beginning of virtual time: 2026-01-01T00:00:00Z. */
const BEGINNING_MS = Date.UTC(2026, 0, 1)

/**
 * Time that goes on only while `run` runs, and then as fast as the work allows: whenever everything waits, it jumps to
 * the next alarm. Alarms of one moment ring in the order in which they were set, so that a run has only one outcome.
 * What is to run on it must wait for nothing else, such as a socket.
 */
export class VirtualClock implements Clock {
  #nowMs: number
  #order = 0
  readonly #alarms = new Heap()

  constructor(beginningMs = BEGINNING_MS) {
    this.#nowMs = beginningMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const rung = Promise.withResolvers<undefined>()
    const stop = () => rung.reject(signal?.reason as Error)
    signal?.addEventListener('abort', stop, { once: true })
    this.#order++
    this.#alarms.push({
      atMs: this.#nowMs + Math.max(0, ms),
      order: this.#order,
      ring: () => rung.resolve(undefined),
    })
    try {
      await rung.promise
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Lets time go on until the work is over. Rejects when the work fails, and when it waits for what cannot happen. */
  async run<T>(work: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const over = () => {
      state.isOver = true
    }
    work.then(over, over)
    await everythingWaits()
    while (!state.isOver) {
      const alarm = this.#alarms.pop()
      if (alarm === undefined) throw new Error('nothing is left that could go on; the work waits for ever')
      this.#nowMs = Math.max(this.#nowMs, alarm.atMs)
      alarm.ring()
      await everythingWaits()
    }
    return work
  }
}

/** Resolves when every promise that can go on has done so. */
function everythingWaits(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A binary heap of alarms, the next one first. */
class Heap {
  readonly #alarms: Alarm[] = []

  push(alarm: Alarm): void {
    const alarms = this.#alarms
    let at = alarms.push(alarm) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = alarms[above]
      if (parent === undefined || isBefore(parent, alarm)) break
      alarms[at] = parent
      at = above
    }
    alarms[at] = alarm
  }

  pop(): Alarm | undefined {
    const alarms = this.#alarms
    const [first] = alarms
    const last = alarms.pop()
    if (last === undefined || last === first) return first
    let at = 0
    for (;;) {
      const left = alarms[2 * at + 1]
      const right = alarms[2 * at + 2]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const child = isRight ? right : left
      if (isBefore(last, child)) break
      alarms[at] = child
      at = 2 * at + (isRight ? 2 : 1)
    }
    alarms[at] = last
    return first
  }
}

function isBefore(one: Alarm, other: Alarm): boolean {
  return one.atMs === other.atMs ? one.order < other.order : one.atMs < other.atMs
}
