import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { MIB } from '../model/time-and-size.ts'

/** Far more than configurations, tokens, passwords or certificates need. */
const MAX_BYTES = 4 * MIB
const PIECE_BYTES = 64 * 1024

/**
 * Reads a file, through symbolic links, of at most 4 MiB. Throws the system's error, or what is wrong with the file. Only regular
 * files are read: a pipe would block the thread.
 */
export function readNamedFile(path: string): Buffer {
  // Without O_NONBLOCK, opening a pipe would block.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const state = fstatSync(file)
    // Reading a folder fails with the system's own error.
    if (!state.isFile() && !state.isDirectory())
      throw new Error(`${path} is no file but a pipe or a device; name a file`)
    return readToEnd(file, path)
  } finally {
    closeSync(file)
  }
}

/** Where a program finds pipes that it was given, which somebody writes. */
const GIVEN = /^\/(dev|proc)\//

/**
 * The same, and also reads a pipe that the program was given, or a device (`/dev/stdin`). It blocks, so call it only at the start of a
 * program.
 */
export function readNamedFileOrPipe(path: string): Buffer {
  if (!GIVEN.test(path) && statSync(path).isFIFO())
    throw new Error(
      `${path} is a named pipe, which may never be written; name a file, or hand it over by /dev/stdin`,
    )
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
