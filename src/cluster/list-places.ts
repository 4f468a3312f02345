/** How many lists are made at a time; others wait for their turn, in the order in which they came. */
export class ListPlaces {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves with what gives the place back, which may be called twice. */
  async enter(): Promise<() => void> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isMine = true
    return () => {
      if (!isMine) return
      isMine = false
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
