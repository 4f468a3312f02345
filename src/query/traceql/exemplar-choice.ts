/** How many exemplars each part of the time range gives before another part may give more. */
const FROM_EACH_PART = 2

/** Chooses exemplars from the whole time range, one per trace. Spans come newest first and would otherwise fill all places. */
export class ExemplarChoice<T> {
  readonly #most: number
  readonly #intervals: number
  readonly #parts: number[]
  readonly #mostOfPart: number
  readonly #traces = new Set<string>()
  readonly #chosen: T[] = []
  /** Exemplars beyond the share of their part. They fill places that other parts leave. */
  readonly #spare: T[] = []

  constructor(most: number, intervals: number) {
    this.#most = most
    this.#intervals = intervals
    const parts = Math.max(1, Math.min(Math.ceil(most / FROM_EACH_PART), intervals))
    this.#parts = Array<number>(parts).fill(0)
    this.#mostOfPart = Math.max(FROM_EACH_PART, Math.ceil(most / parts))
  }

  /** Whether a span in this interval may still be chosen. */
  hasRoomIn(interval: number): boolean {
    if (this.#chosen.length >= this.#most) return false
    return this.#isOpen(this.#partOf(interval)) || this.#spare.length < this.#most
  }

  /** Adds an exemplar. A span is skipped if `make` returns undefined. */
  add(interval: number, traceId: string, make: () => T | undefined): void {
    if (!this.hasRoomIn(interval) || this.#traces.has(traceId)) return
    const one = make()
    if (one === undefined) return
    this.#traces.add(traceId)
    const part = this.#partOf(interval)
    if (this.#isOpen(part)) {
      this.#parts[part] = (this.#parts[part] ?? 0) + 1
      this.#chosen.push(one)
    } else this.#spare.push(one)
  }

  get chosen(): readonly T[] {
    return [...this.#chosen, ...this.#spare].slice(0, this.#most)
  }

  #isOpen(part: number): boolean {
    return (this.#parts[part] ?? 0) < this.#mostOfPart
  }

  #partOf(interval: number): number {
    return Math.floor((interval * this.#parts.length) / this.#intervals)
  }
}
