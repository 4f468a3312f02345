import type { SeededRandom } from './seeded-random.ts'

/** Something that takes input from outside. */
export interface Target {
  readonly name: string
  /** Valid inputs to begin with; made anew at each call. */
  readonly seeds: () => readonly Buffer[]
  /** Pieces of text or bytes that mean something to it. */
  readonly words?: readonly string[]
  /** Structure of the input: protobuf is also mutated field by field, with lengths that fit. */
  readonly shape: 'protobuf' | 'text' | 'bytes'
  /** Throws when the input is not stood: what it may throw by contract it catches itself. */
  readonly run: (input: Buffer) => void | Promise<void>
}

export type Random = SeededRandom
