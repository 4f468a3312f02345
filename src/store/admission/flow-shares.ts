import type { InTurn } from '../../model/ingest.ts'

const WINDOW_MS = 1_000
/** A flow that costs less than this part of what the costliest costs is light. */
const LIGHT_PART = 0.25
/** What a byte is taken to cost before anything of its flow was stored: a span of 300 bytes takes 5 µs. */
const USUAL_MS_PER_BYTE = 15e-6
/** How much the last measurement counts beside those before. */
const NEW_PART = 0.3

/**
 * What each flow cost the store thread of late, and so which are light beside another that is heavy. A peer's flows count
 * together too: who makes names up is no lighter by that.
 */
export class FlowShares {
  readonly #nowMs: () => number
  #flows = new Costs()
  #peers = new Costs()
  #endsMs = -Infinity
  #isMixedNow = false
  #wasMixed = false

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Whether some flow was light in this second or in the one before. */
  get isMixed(): boolean {
    this.#roll()
    return this.#isMixedNow || this.#wasMixed
  }

  /** What so many bytes of a flow will take, in milliseconds, going by those before. */
  estimate({ flow, peer }: InTurn, bytes: number): number {
    return bytes * (this.#flows.msPerByte(flow) ?? this.#peers.msPerByte(peer) ?? USUAL_MS_PER_BYTE)
  }

  /** Notes what a flow is going to cost; true when it is light. */
  add({ flow, peer }: InTurn, ms: number): boolean {
    this.#roll()
    const cost = Math.max(this.#flows.add(flow, ms), this.#peers.add(peer, ms))
    const isLight = cost < LIGHT_PART * Math.max(this.#flows.largest, this.#peers.largest)
    if (isLight) this.#isMixedNow = true
    return isLight
  }

  /** A flow took so much more than was noted, or less. */
  correct({ flow, peer }: InTurn, moreMs: number): void {
    this.#flows.add(flow, moreMs)
    this.#peers.add(peer, moreMs)
  }

  /** So many bytes of it took so long. */
  measured({ flow, peer }: InTurn, bytes: number, ms: number): void {
    const msPerByte = ms / Math.max(1, bytes)
    this.#flows.measured(flow, msPerByte)
    this.#peers.measured(peer, msPerByte)
  }

  #roll(): void {
    const nowMs = this.#nowMs()
    if (nowMs < this.#endsMs) return
    const isNext = nowMs < this.#endsMs + WINDOW_MS
    this.#wasMixed = isNext && this.#isMixedNow
    this.#isMixedNow = false
    this.#flows = isNext ? this.#flows.next() : new Costs()
    this.#peers = isNext ? this.#peers.next() : new Costs()
    this.#endsMs = nowMs + WINDOW_MS
  }
}

interface Cost {
  ms: number
  msPerByte: number | undefined
}

const blend = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + (now - before) * NEW_PART

/** What each cost in this second and in the one before. */
class Costs {
  readonly #before: ReadonlyMap<number, Cost>
  readonly #largestBefore: number
  readonly #now = new Map<number, Cost>()
  #largestNow = 0

  constructor(before: ReadonlyMap<number, Cost> = new Map(), largestBefore = 0) {
    this.#before = before
    this.#largestBefore = largestBefore
  }

  get largest(): number {
    return Math.max(this.#largestNow, this.#largestBefore)
  }

  next(): Costs {
    return new Costs(this.#now, this.#largestNow)
  }

  /** Returns the larger of what it cost in either second. */
  add(who: number, ms: number): number {
    const cost = this.#of(who)
    cost.ms += ms
    this.#largestNow = Math.max(this.#largestNow, cost.ms)
    return Math.max(cost.ms, this.#before.get(who)?.ms ?? 0)
  }

  measured(who: number, msPerByte: number): void {
    const cost = this.#of(who)
    cost.msPerByte = blend(cost.msPerByte, msPerByte)
  }

  msPerByte(who: number): number | undefined {
    return (this.#now.get(who) ?? this.#before.get(who))?.msPerByte
  }

  #of(who: number): Cost {
    let cost = this.#now.get(who)
    if (cost === undefined) {
      cost = { ms: 0, msPerByte: this.#before.get(who)?.msPerByte }
      this.#now.set(who, cost)
    }
    return cost
  }
}
