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
