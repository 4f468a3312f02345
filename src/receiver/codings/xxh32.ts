const [P1, P2, P3, P4, P5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const
const STRIPE = 16

/** The XXH32 checksum of bytes that come bit by bit, with seed 0 (xxHash specification, XXH32). */
export class Xxh32 {
  readonly #rest = Buffer.alloc(STRIPE)
  #kept = 0
  #length = 0
  #a = 0
  #b = 0
  #c = 0
  #d = 0

  constructor() {
    this.begin()
  }

  /** Forgets what came before. */
  begin(): void {
    this.#kept = 0
    this.#length = 0
    this.#a = (P1 + P2) | 0
    this.#b = P2 | 0
    this.#c = 0
    this.#d = -P1 | 0
  }

  update(bytes: Buffer): void {
    this.#length += bytes.length
    let at = 0
    if (this.#kept > 0) {
      at = bytes.copy(this.#rest, this.#kept, 0, STRIPE - this.#kept)
      this.#kept += at
      if (this.#kept < STRIPE) return
      this.#stripes(this.#rest, 0)
    }
    at = this.#stripes(bytes, at)
    this.#kept = bytes.copy(this.#rest, 0, at)
  }

  digest(): number {
    let hash =
      this.#length < STRIPE
        ? P5
        : turned(this.#a, 1) + turned(this.#b, 7) + turned(this.#c, 12) + turned(this.#d, 18)
    hash = (hash + this.#length) | 0
    let at = 0
    for (; at + 4 <= this.#kept; at += 4) {
      hash = (hash + Math.imul(this.#rest.readInt32LE(at), P3)) | 0
      hash = Math.imul(turned(hash, 17), P4)
    }
    for (; at < this.#kept; at++) {
      hash = (hash + Math.imul(this.#rest.readUInt8(at), P5)) | 0
      hash = Math.imul(turned(hash, 11), P1)
    }
    hash = Math.imul(hash ^ (hash >>> 15), P2)
    hash = Math.imul(hash ^ (hash >>> 13), P3)
    return (hash ^ (hash >>> 16)) >>> 0
  }

  /** Takes all whole stripes from `at` on; returns where they end. */
  #stripes(bytes: Buffer, at: number): number {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d]
    for (; at + STRIPE <= bytes.length; at += STRIPE) {
      a = taken(a, wordAt(bytes, at))
      b = taken(b, wordAt(bytes, at + 4))
      c = taken(c, wordAt(bytes, at + 8))
      d = taken(d, wordAt(bytes, at + 12))
    }
    this.#a = a
    this.#b = b
    this.#c = c
    this.#d = d
    return at
  }
}

function wordAt(bytes: Buffer, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  )
}

function taken(lane: number, word: number): number {
  return Math.imul(turned((lane + Math.imul(word, P2)) | 0, 13), P1)
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
