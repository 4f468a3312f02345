/** From each part of the time come so many exemplars before any part gives more. */
const FROM_EACH_PART = 2

/** Chooses exemplars from all of the time, each of another trace. Spans may come in any order: the newest first would fill all places. */
export class ExemplarChoice<T> {
  readonly #most: number
  readonly #intervals: number
  readonly #parts: number[]
  readonly #mostOfPart: number
  readonly #traces = new Set<string>()
  readonly #chosen: T[] = []
  /** They fill the places that are left. */
  readonly #spare: T[] = []

  constructor(most: number, intervals: number) {
    this.#most = most
    this.#intervals = intervals
    const parts = Math.max(1, Math.min(Math.ceil(most / FROM_EACH_PART), intervals))
    this.#parts = Array<number>(parts).fill(0)
    this.#mostOfPart = Math.max(FROM_EACH_PART, Math.ceil(most / parts))
  }

  /** Whether a span of an interval may still be chosen. */
  hasRoomIn(interval: number): boolean {
    if (this.#chosen.length >= this.#most) return false
    return this.#isOpen(this.#partOf(interval)) || this.#spare.length < this.#most
  }

  add(interval: number, traceId: string, make: () => T): void {
    if (!this.hasRoomIn(interval) || this.#traces.has(traceId)) return
    this.#traces.add(traceId)
    const part = this.#partOf(interval)
    if (this.#isOpen(part)) {
      this.#parts[part] = (this.#parts[part] ?? 0) + 1
      this.#chosen.push(make())
    } else this.#spare.push(make())
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
