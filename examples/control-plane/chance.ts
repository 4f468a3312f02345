/** Where a run gets its chance from: the same seed gives the same numbers. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0 up to, not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  between({ least, most }: Range): number {
    return least + this.next() * (most - least)
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => Math.floor(this.next() * 16).toString(16)).join('')
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
    let hash = this.#state
    for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0
    return new Chance(hash)
  }
}

export interface Range {
  readonly least: number
  readonly most: number
}
