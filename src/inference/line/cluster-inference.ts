import type { UnixNanos } from '../../model/clock.ts'
import type { Observation } from '../../model/kubernetes/observation.ts'
import type { ClusterEvent } from '../../model/kubernetes/cluster-event.ts'
import type { Write } from '../../model/kubernetes/write.ts'
import { AwaitedStreams } from './awaited-streams.ts'
import { LineOfWrites, type LineFault, type LineSettings, type WaitingLine } from './line-of-writes.ts'

/** Writes and Events that can be worked on now. */
export interface Work {
  readonly writes: readonly Write[]
  readonly events: readonly ClusterEvent[]
}

interface WaitingEvent {
  readonly event: ClusterEvent
  readonly sinceNs: UnixNanos
}

interface Telling {
  readonly row: number
  readonly toldNs: UnixNanos
  readonly bytes: number
}

/** What waits of a cluster: plain data, of which `ClusterInference` goes on. */
export interface WaitingOfCluster {
  readonly line: WaitingLine
  readonly events: readonly WaitingEvent[]
  readonly tellings: readonly Telling[]
}

/**
 * What is told of one cluster, from the telling until it is worked on: writes in their line, and Events until those writes are
 * decided that came before them. Knows which tellings are worked on whole.
 */
export class ClusterInference {
  readonly streams = new AwaitedStreams()
  readonly #line: LineOfWrites
  readonly #eventsWaitNs: bigint
  readonly #events: WaitingEvent[]
  /** Whose row is there still, in the order in which they were told. */
  readonly #tellings: Telling[]
  #work: Work | undefined
  #bytes: number

  /** `from` is where another one stood, which this one goes on from. */
  constructor(settings: LineSettings, from?: WaitingOfCluster) {
    this.#line = new LineOfWrites(settings, from?.line)
    this.#eventsWaitNs = settings.windowNs + settings.whoWaitNs
    this.#events = [...(from?.events ?? [])]
    this.#tellings = [...(from?.tellings ?? [])]
    this.#bytes = this.#tellings.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** All that waits, without what admission told. To be written down before anything else happens. */
  get waiting(): WaitingOfCluster {
    return { line: this.#line.state, events: this.#events, tellings: this.#tellings }
  }

  /** How many writes and Events wait. */
  get size(): number {
    return this.#line.size + this.#events.length
  }

  /** How many requests that admission told of made no write, since the last call. */
  takeUnmatched(): number {
    return this.#line.takeUnmatched()
  }

  /** What could not be worked on, since the last call. */
  takeFaults(): LineFault[] {
    return this.#line.takeFaults()
  }

  /** What all that was told takes, as it was handed over. */
  get bytes(): number {
    return this.#bytes
  }

  add(
    told: readonly (Observation | ClusterEvent)[],
    { row, bytes }: { row: number; bytes: number },
    nowNs: UnixNanos,
  ): void {
    this.#tellings.push({ row, toldNs: nowNs, bytes })
    this.#bytes += bytes
    for (const one of told) {
      if (one.source === 'event') this.#events.push({ event: one, sinceNs: nowNs })
      else this.#line.add(one, nowNs)
    }
  }

  /** Some of what can be worked on, about `most` of it; the same again until it is `worked`. */
  take(nowNs: UnixNanos, most: number): Work {
    if (this.#work !== undefined) return this.#work
    const writes = this.#line.takeDue(nowNs, most)
    const events: ClusterEvent[] = []
    for (let next = this.#events[0]; next !== undefined && events.length < most; next = this.#events[0]) {
      if (nowNs - next.sinceNs < this.#eventsWaitNs) break
      events.push(next.event)
      this.#events.shift()
    }
    if (writes.length + events.length > 0) this.#work = { writes, events }
    return { writes, events }
  }

  /** The last row that is worked on whole, with all before, once the work that was taken is; undefined where none is. */
  get workedRow(): number | undefined {
    const oldestNs = this.#oldestNs
    return this.#tellings.findLast(({ toldNs }) => oldestNs === undefined || toldNs < oldestNs)?.row
  }

  /** Some telling is worked on whole, and need not be kept. */
  get hasWorked(): boolean {
    const [first] = this.#tellings
    const oldestNs = this.#oldestNs
    return first !== undefined && (oldestNs === undefined || first.toldNs < oldestNs)
  }

  /** What was taken is durable. */
  worked(): void {
    this.#work = undefined
    const oldestNs = this.#oldestNs
    for (let next = this.#tellings[0]; next !== undefined; next = this.#tellings[0]) {
      if (oldestNs !== undefined && next.toldNs >= oldestNs) break
      this.#bytes -= next.bytes
      this.#tellings.shift()
    }
  }

  get #oldestNs(): UnixNanos | undefined {
    const [line, event] = [this.#line.oldestNs, this.#events[0]?.sinceNs]
    if (line === undefined || event === undefined) return line ?? event
    return line < event ? line : event
  }
}
