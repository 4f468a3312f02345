/** More bytes were read for an answer than it may take. */
export class TooMuchRead extends Error {}

/** How many bytes of stored spans, log records and envelopes were read through a connection. */
export class BytesRead {
  #count = 0
  #most = Infinity

  get count(): number {
    return this.#count
  }

  /** From here on, throws TooMuchRead where more is read than so many bytes. */
  allow(bytes: number): void {
    this.#most = this.#count + bytes
  }

  /** So many bytes were read. */
  add(bytes: number): void {
    this.#count += bytes
    if (this.#count > this.#most) throw new TooMuchRead(`more than ${this.#most} bytes were read`)
  }
}
