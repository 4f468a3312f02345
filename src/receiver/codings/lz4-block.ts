import { CorruptCoding } from './decoder.ts'
import type { Produced } from './produced.ts'

const SHORTEST_MATCH = 4
const MORE_FOLLOWS = 15
const LONGEST_BYTE = 255

const State = {
  token: 0,
  literalLength: 1,
  literals: 2,
  offsetLow: 3,
  offsetHigh: 4,
  matchLength: 5,
  match: 6,
} as const
type State = (typeof State)[keyof typeof State]

/** The sequences of an LZ4 block (lz4_Block_format.md), as they come. */
export class Lz4Block {
  readonly #produced: Produced
  #state: State = State.token
  #literals = 0
  #match = 0
  #offset = 0
  /** How much more the block may make. */
  #room = 0

  constructor(produced: Produced) {
    this.#produced = produced
  }

  /** Begins a block that makes at most so many bytes. */
  begin(most: number): void {
    this.#state = State.token
    this.#room = most
  }

  /** Whether a block may end here: after the literals of a sequence. */
  get mayEnd(): boolean {
    return this.#state === State.offsetLow
  }

  /** Whether it goes on repeating without reading more. */
  get isRepeating(): boolean {
    return this.#state === State.match
  }

  /** Reads from `at` up to `end`, or until a page is full; returns how far it came. */
  read(input: Buffer, at: number, end: number): number {
    for (;;) {
      if (this.#state === State.literals) {
        const taken = this.#produced.put(input, at, Math.min(this.#literals, end - at))
        this.#literals -= taken
        at += taken
        if (this.#literals > 0) return at
        this.#state = State.offsetLow
      } else if (this.#state === State.match) {
        this.#match -= this.#produced.copy(this.#offset, this.#match)
        if (this.#match > 0) return at
        this.#state = State.token
      }
      if (this.#produced.isFull || at === end) return at
      this.#readByte(input[at++] ?? 0)
    }
  }

  #readByte(byte: number): void {
    switch (this.#state) {
      case State.token:
        this.#literals = byte >>> 4
        this.#match = (byte & MORE_FOLLOWS) + SHORTEST_MATCH
        if (this.#literals === MORE_FOLLOWS) this.#state = State.literalLength
        else this.#beginLiterals()
        return
      case State.literalLength:
        this.#literals += byte
        if (byte === LONGEST_BYTE) this.#mustFit(this.#literals)
        else this.#beginLiterals()
        return
      case State.offsetLow:
        this.#offset = byte
        this.#state = State.offsetHigh
        return
      case State.offsetHigh:
        this.#offset += byte << 8
        if (this.#match === MORE_FOLLOWS + SHORTEST_MATCH) this.#state = State.matchLength
        else this.#beginMatch()
        return
      case State.matchLength:
        this.#match += byte
        if (byte === LONGEST_BYTE) this.#mustFit(this.#match)
        else this.#beginMatch()
        return
      case State.literals:
      case State.match:
        // These are not read byte by byte.
        return
    }
  }

  #beginLiterals(): void {
    this.#mustFit(this.#literals)
    this.#room -= this.#literals
    this.#state = State.literals
  }

  #beginMatch(): void {
    this.#mustFit(this.#match)
    this.#room -= this.#match
    this.#state = State.match
  }

  #mustFit(length: number): void {
    if (length > this.#room) throw new CorruptCoding('a block is longer than its frame allows')
  }
}
