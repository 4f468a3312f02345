/** A streaming decompressor. It outputs bounded pieces, so that the reader can count bytes while they are decompressed. */
export interface Decoder {
  /**
   * Reads `input` from `at`. Returns where it stopped: at the end of the input, or where a piece became full. Throws
   * CorruptCoding.
   */
  read(input: Buffer, at: number): number
  /** The piece that became full. Its bytes never change again. */
  take(): Buffer | undefined
  /** The rest of the output after the last input; throws CorruptCoding if the input was cut short. */
  finish(): Buffer
}

/** The input is not valid in its declared coding. */
export class CorruptCoding extends Error {}

/** The largest offset of an LZ4 match, and the most data in a chunk of framed Snappy. */
export const PAGE_BYTES = 64 * 1024
/** From this many bytes on, `Buffer.copy` is faster than a loop. */
const WORTH_A_CALL = 24

/**
 * Decompressed bytes, in pages. A full page is handed out, and the same buffer is kept for as long as copies may refer to it.
 */
export class DecodedPages {
  readonly #before: (Buffer | undefined)[] = []
  /** How many full pages back a copy may refer. */
  readonly #reach: number
  #page: Buffer | undefined
  /** How much of the page is written. */
  #at = 0
  #floor = 0
  /** The size of the next page. */
  #expected = PAGE_BYTES

  /** `reach`: how many full pages back a copy may refer. */
  constructor(reach: number) {
    this.#reach = reach
  }

  /** How many bytes were decompressed in total. */
  get length(): number {
    return this.#before.length * PAGE_BYTES + this.#at
  }

  get isFull(): boolean {
    return this.#at === PAGE_BYTES
  }

  /** Announces the total size, so that a short output gets a small page. */
  expect(most: number): void {
    this.#expected = Math.min(most, PAGE_BYTES)
  }

  /** Later copies may not refer to bytes before this point. */
  close(): void {
    this.#floor = this.length
  }

  /** Appends literal bytes, as many as the page has room for; returns how many. */
  put(input: Buffer, from: number, most: number): number {
    const page = (this.#page ??= Buffer.allocUnsafe(this.#expected))
    const length = Math.min(most, PAGE_BYTES - this.#at)
    if (length >= WORTH_A_CALL) input.copy(page, this.#at, from, from + length)
    else for (let i = 0; i < length; i++) page[this.#at + i] = input[from + i] ?? 0
    this.#at += length
    return length
  }

  /** Copies from `offset` bytes back, as many bytes as the page has room for; returns how many. */
  copy(offset: number, most: number): number {
    const from = this.length - offset
    if (offset === 0 || from < this.#floor) throw new CorruptCoding('a copy refers to bytes before the start')
    const page = (this.#page ??= Buffer.allocUnsafe(this.#expected))
    const length = Math.min(most, PAGE_BYTES - this.#at)
    for (let done = 0; done < length;) {
      const start = (from + done) % PAGE_BYTES
      const source = this.#pageOf(from + done)
      const run = Math.min(length - done, PAGE_BYTES - start)
      const to = this.#at + done
      // Byte by byte: the copy may overlap what it writes.
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

  /** The bytes of the current page, from `from` on. */
  written(from = 0): Buffer {
    return this.#page?.subarray(from, this.#at) ?? NOTHING
  }

  #pageOf(position: number): Buffer {
    const number = Math.floor(position / PAGE_BYTES)
    const page = number === this.#before.length ? this.#page : this.#before[number]
    if (page === undefined) throw new CorruptCoding('a copy refers to bytes too far back')
    return page
  }
}

export const NOTHING = Buffer.alloc(0)

/** The first size of the buffer, enough for the short heads of both formats. */
const FEW = 16

/** Collects a known number of bytes from chunks of any size. */
export class ByteCollector {
  #bytes = Buffer.alloc(FEW)
  #length = 0
  #wanted = 0

  /** Starts over. Memory grows with the bytes that arrive, not with the announced size. */
  begin(wanted: number): void {
    this.#wanted = wanted
    this.#length = 0
  }

  /** Changes how many bytes are wanted in total, including those already collected. */
  extend(wanted: number): void {
    this.#wanted = wanted
  }

  get isWhole(): boolean {
    return this.#length === this.#wanted
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** The collected bytes; valid until the next `begin`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** The four collected bytes as a little-endian number. */
  get word(): number {
    return this.#bytes.readUInt32LE(0)
  }

  /** Collects the bytes that are still wanted, from `at` on; returns where it stopped. */
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
