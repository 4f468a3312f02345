const WARM_UP = 16

/** Where a run gets its chance from: the same seed gives the same numbers (sfc32, whose 128 bits keep sources apart). */
export class Chance {
  readonly #seed: string
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number | string) {
    this.#seed = String(seed)
    this.#a = hashOf(this.#seed, 0x9e3779b9)
    this.#b = hashOf(this.#seed, 0x243f6a88)
    this.#c = hashOf(this.#seed, 0xb7e15162)
    for (let round = 0; round < WARM_UP; round++) this.word()
  }

  /** A whole number of 32 bits. */
  word(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** A number from 0 up to, not including, 1. */
  next(): number {
    return this.word() / 2 ** 32
  }

  between({ least, most }: Range): number {
    return least + this.next() * (most - least)
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += this.word().toString(16).padStart(8, '0')
    return text.slice(0, digits)
  }

  /** A UUID of version 4 (RFC 9562). */
  uuid(): string {
    const digits = this.hex(32)
    const variant = '89ab'.charAt(Math.floor(this.next() * 4))
    return [
      digits.slice(0, 8),
      digits.slice(8, 12),
      `4${digits.slice(13, 16)}`,
      `${variant}${digits.slice(17, 20)}`,
      digits.slice(20),
    ].join('-')
  }

  /** The end of a generated name, as Kubernetes makes it: no vowels, and nothing easily confused. */
  suffix(): string {
    const letters = 'bcdfghjklmnpqrstvwxz2456789'
    return Array.from({ length: 5 }, () => letters.charAt(Math.floor(this.next() * letters.length))).join('')
  }

  /** A source of its own, so that what one part draws does not depend on how much another does. */
  fork(name: string): Chance {
    return new Chance(`${this.#seed}/${name}`)
  }
}

/** FNV-1a. */
function hashOf(text: string, basis: number): number {
  let hash = basis
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193)
  return hash
}

export interface Range {
  readonly least: number
  readonly most: number
}
