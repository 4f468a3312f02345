import { closeSync, openSync, readSync } from 'node:fs'
import { MIB } from '../model/sizes.ts'

/** Far more than a configuration, tokens, passwords or certificates need. */
const MAX_BYTES = 4 * MIB
const PIECE_BYTES = 64 * 1024

/**
 * A file that somebody named, or what a pipe or device (`/dev/stdin`) gives, read to its end but no further than 4 MiB.
 * Throws what the system says, or that there is more.
 */
export function readNamedFile(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    const pieces: Buffer[] = []
    for (let length = 0; ;) {
      const piece = Buffer.allocUnsafe(PIECE_BYTES)
      const bytes = readSync(file, piece, 0, PIECE_BYTES, null)
      if (bytes === 0) return Buffer.concat(pieces)
      pieces.push(piece.subarray(0, bytes))
      length += bytes
      if (length > MAX_BYTES)
        throw new Error(`${path} holds more than ${MAX_BYTES / MIB} MiB, too much for what it is named for`)
    }
  } finally {
    closeSync(file)
  }
}
