/** What undoes a coding, piece by piece: nothing grows that has not been handed on and counted. */
export interface Decoder {
  /**
   * Reads `input` from `at` on, and returns how far it came: to the end, or to where a piece is full. Throws
   * CorruptCoding.
   */
  read(input: Buffer, at: number): number
  /** The piece that became full. Its bytes never change again. */
  take(): Buffer | undefined
  /** What is left once all is read; throws CorruptCoding where the input was cut short. */
  finish(): Buffer
}

/** What was sent is not in the coding that it is said to be in. */
export class CorruptCoding extends Error {}

/** As far back as copies of LZ4 reach, and as large as a chunk of framed Snappy may be. */
export const PAGE_BYTES = 64 * 1024
/** From here on a call costs less than a loop. */
const WORTH_A_CALL = 24

/**
 * What a decoder made, in pages that are handed on when they are full and read again by copies: they are kept once,
 * whoever looks at them.
 */
export class DecodedPages {
  readonly #before: (Buffer | undefined)[] = []
  /** How many full pages copies may still reach. */
  readonly #reach: number
  #page: Buffer | undefined
  /** How much of the page is written. */
  #at = 0
  #floor = 0
  /** How large the page is to be that comes next. */
  #expected = PAGE_BYTES

  /** `reach` is how many pages back copies go. */
  constructor(reach: number) {
    this.#reach = reach
  }

  /** How many bytes were made in all. */
  get length(): number {
    return this.#before.length * PAGE_BYTES + this.#at
  }

  get isFull(): boolean {
    return this.#at === PAGE_BYTES
  }

  /** Says that no more than this is going to be made in all. */
  expect(most: number): void {
    this.#expected = Math.min(most, PAGE_BYTES)
  }

  /** From here on copies reach no further back than this. */
  close(): void {
    this.#floor = this.length
  }

  /** Takes bytes as they are, as many as the page has room for; returns how many. */
  put(input: Buffer, from: number, most: number): number {
    const page = (this.#page ??= Buffer.allocUnsafe(this.#expected))
    const length = Math.min(most, PAGE_BYTES - this.#at)
    if (length >= WORTH_A_CALL) input.copy(page, this.#at, from, from + length)
    else for (let i = 0; i < length; i++) page[this.#at + i] = input[from + i] ?? 0
    this.#at += length
    return length
  }

  /** Repeats what stands `offset` bytes back, as much as the page has room for; returns how many bytes. */
  copy(offset: number, most: number): number {
    const from = this.length - offset
    if (offset === 0 || from < this.#floor) throw new CorruptCoding('it repeats what was not there')
    const page = (this.#page ??= Buffer.allocUnsafe(this.#expected))
    const length = Math.min(most, PAGE_BYTES - this.#at)
    for (let done = 0; done < length;) {
      const start = (from + done) % PAGE_BYTES
      const source = this.#pageOf(from + done)
      const run = Math.min(length - done, PAGE_BYTES - start)
      const to = this.#at + done
      // One byte after the other, since what is written may be read again.
      if (run < WORTH_A_CALL || run > offset)
        for (let i = 0; i < run; i++) page[to + i] = source[start + i] ?? 0
      else source.copy(page, to, start, start + run)
      done += run
    }
    this.#at += length
    return length
  }

  /** The page, once it is full. */
  take(): Buffer | undefined {
    const page = this.#page
    if (page === undefined || !this.isFull) return undefined
    this.#before.push(page)
    const forgotten = this.#before.length - 1 - this.#reach
    if (forgotten >= 0) this.#before[forgotten] = undefined
    this.#page = undefined
    this.#at = 0
    return page
  }

  /** What the page holds, from `from` on. */
  written(from = 0): Buffer {
    return this.#page?.subarray(from, this.#at) ?? NOTHING
  }

  #pageOf(position: number): Buffer {
    const number = Math.floor(position / PAGE_BYTES)
    const page = number === this.#before.length ? this.#page : this.#before[number]
    if (page === undefined) throw new CorruptCoding('it repeats what is too far back')
    return page
  }
}

export const NOTHING = Buffer.alloc(0)

/** Up to here a loop costs less than a call. */
const FEW = 16

/** Collects a known number of bytes, however they come. */
export class ByteCollector {
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
