import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { MIB } from '../model/time-and-size.ts'

/** Far more than a configuration, tokens, passwords or certificates need. */
const MAX_BYTES = 4 * MIB
const PIECE_BYTES = 64 * 1024

/**
 * A file that somebody named, also through links, read to its end but no further than 4 MiB. Throws what the system says, or what is
 * wrong with it. Nothing but a file is read: a pipe would keep the whole thread waiting.
 */
export function readNamedFile(path: string): Buffer {
  // A pipe that nobody writes into is opened at once.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const state = fstatSync(file)
    // What to do with a folder the system says, as it is read.
    if (!state.isFile() && !state.isDirectory())
      throw new Error(`${path} is no file but a pipe or a device; name a file`)
    return readToEnd(file, path)
  } finally {
    closeSync(file)
  }
}

/** The same for what a pipe or device (`/dev/stdin`) gives too: to be waited for before there is anything else to do. */
export function readNamedFileOrPipe(path: string): Buffer {
  const file = openSync(path, 'r')
  try {
    return readToEnd(file, path)
  } finally {
    closeSync(file)
  }
}

function readToEnd(file: number, path: string): Buffer {
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
}
