const WINDOW_MS = 1_000
/** A flow that sends less than this part of what the largest sends is light. */
const LIGHT_PART = 0.25

/** How much each flow sent of late, and so which are light beside another that is heavy. */
export class FlowShares {
  readonly #nowMs: () => number
  #now = new Map<number, number>()
  #before = new Map<number, number>()
  #endsMs = -Infinity
  #largestBefore = 0
  #largestNow = 0
  #lightBefore = false

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Whether some flow was light in the last full second. */
  get isMixed(): boolean {
    this.#roll()
    return this.#lightBefore
  }

  /** Notes what a flow sends; true when it is light. */
  add(flow: number, bytes: number): boolean {
    this.#roll()
    const sent = (this.#now.get(flow) ?? 0) + bytes
    this.#now.set(flow, sent)
    this.#largestNow = Math.max(this.#largestNow, sent)
    const largest = Math.max(this.#largestNow, this.#largestBefore)
    return Math.max(sent, this.#before.get(flow) ?? 0) < largest * LIGHT_PART
  }

  #roll(): void {
    const nowMs = this.#nowMs()
    if (nowMs < this.#endsMs) return
    const isNext = nowMs < this.#endsMs + WINDOW_MS
    this.#before = isNext ? this.#now : new Map<number, number>()
    this.#largestBefore = isNext ? this.#largestNow : 0
    this.#lightBefore = [...this.#before.values()].some((sent) => sent < this.#largestBefore * LIGHT_PART)
    this.#now = new Map()
    this.#largestNow = 0
    this.#endsMs = nowMs + WINDOW_MS
  }
}
