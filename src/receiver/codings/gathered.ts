/** Up to here a loop costs less than a call. */
const FEW = 16

/** Collects a known number of bytes, however they come. */
export class Gathered {
  #bytes = Buffer.alloc(FEW)
  #length = 0
  #wanted = 0

  /** Begins anew. Memory is taken as the bytes come, not for what is announced. */
  begin(wanted: number): void {
    this.#wanted = wanted
    this.#length = 0
  }

  /** Asks for so many in all, what came already included. */
  extend(wanted: number): void {
    this.#wanted = wanted
  }

  get isWhole(): boolean {
    return this.#length === this.#wanted
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** What was collected; it stays as it is until the next begins. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** The four bytes that were collected, as a number. */
  get word(): number {
    return this.#bytes.readUInt32LE(0)
  }

  /** Takes what is still wanted, from `at` on; returns how far it came. */
  read(input: Buffer, at: number): number {
    const taken = Math.min(this.#wanted - this.#length, input.length - at)
    const needed = this.#length + taken
    if (needed > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(needed, Math.min(this.#wanted, 2 * this.#bytes.length)))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    if (taken > FEW) input.copy(this.#bytes, this.#length, at, at + taken)
    else for (let i = 0; i < taken; i++) this.#bytes[this.#length + i] = input[at + i] ?? 0
    this.#length = needed
    return at + taken
  }
}
