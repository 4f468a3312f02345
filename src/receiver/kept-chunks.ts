const SMALL_BYTES = 1024
const BLOCK_BYTES = 4096

/** Keeps the chunks of a body. Small ones are copied together: apart, each would hold a hundred times its bytes. */
export class KeptChunks {
  readonly #kept: Buffer[] = []
  #block = Buffer.alloc(0)
  #used = 0

  add(chunk: Buffer): void {
    if (chunk.length >= SMALL_BYTES) {
      this.#closeBlock()
      this.#kept.push(chunk)
      return
    }
    if (this.#used + chunk.length > this.#block.length) {
      this.#closeBlock()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    }
    this.#used += chunk.copy(this.#block, this.#used)
  }

  /** Gives out what is large enough by now, and keeps it no longer. */
  takeLarge(): Buffer[] {
    return this.#kept.splice(0)
  }

  /** All of them in their order, as one or more. */
  all(): readonly Buffer[] {
    this.#closeBlock()
    return this.#kept
  }

  clear(): void {
    this.#kept.length = 0
    this.#block = Buffer.alloc(0)
    this.#used = 0
  }

  #closeBlock(): void {
    if (this.#used === 0) return
    this.#kept.push(this.#block.subarray(0, this.#used))
    this.#block = this.#block.subarray(this.#used)
    this.#used = 0
  }
}
