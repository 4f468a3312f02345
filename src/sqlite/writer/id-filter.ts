const BITS_PER_ID = 8
const BLOCK_BITS = 512
const BLOCK_WORDS = 16
const MAX_BLOCKS = 2 ** 19
const ID_BYTES = 16

/**
 * Says of an id of 16 bytes that it was surely never added, or that it may have been: a Bloom filter in which the bits of an id
 * lie in one block. Once it holds `capacity` ids, two or three others in a hundred are wrongly said to be there; more beyond. Takes a
 * byte an id, 32 MiB at most.
 */
export class IdFilter {
  readonly capacity: number
  count = 0
  readonly #words: Uint32Array
  readonly #mask: number
  readonly #id = Buffer.alloc(ID_BYTES)
  #block = 0
  #bits = 0

  /** `expected` is the least capacity, unless that takes more than 32 MiB. */
  constructor(expected: number) {
    const wanted = (expected * BITS_PER_ID) / BLOCK_BITS
    const blocks = Math.min(MAX_BLOCKS, 2 ** Math.ceil(Math.log2(Math.max(1, wanted))))
    this.capacity = (blocks * BLOCK_BITS) / BITS_PER_ID
    this.#words = new Uint32Array(blocks * BLOCK_WORDS)
    this.#mask = blocks - 1
  }

  /** `key` is the id as latin1. */
  addKey(key: string): void {
    this.#id.write(key, 'latin1')
    this.add(this.#id, 0)
  }

  add(bytes: Buffer, at: number): void {
    this.#place(bytes, at)
    for (let left = 0; left < 3; left++) {
      const bit = (this.#bits >>> (9 * left)) & (BLOCK_BITS - 1)
      const word = this.#block + (bit >>> 5)
      this.#words[word] = (this.#words[word] ?? 0) | (1 << (bit & 31))
    }
    this.count++
  }

  mayHaveKey(key: string): boolean {
    this.#id.write(key, 'latin1')
    this.#place(this.#id, 0)
    for (let left = 0; left < 3; left++) {
      const bit = (this.#bits >>> (9 * left)) & (BLOCK_BITS - 1)
      if (((this.#words[this.#block + (bit >>> 5)] ?? 0) & (1 << (bit & 31))) === 0) return false
    }
    return true
  }

  /** Ids need not be random: all of their bytes are mixed into the block and the bits. */
  #place(bytes: Buffer, at: number): void {
    let block = 0x9e3779b9
    let bits = 0x85ebca6b
    for (let from = at; from < at + ID_BYTES; from += 4) {
      const word = bytes.readInt32LE(from)
      block = mixed(block ^ word)
      bits = mixed(bits + word)
    }
    this.#block = (block & this.#mask) * BLOCK_WORDS
    this.#bits = bits
  }
}

function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x7feb352d)
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b)
  return twice ^ (twice >>> 16)
}
