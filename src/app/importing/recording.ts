import { createReadStream } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, createGunzip } from 'node:zlib'
import { linesOf, type LongLine } from '../../cluster/json-lines.ts'
import { errorText } from '../../model/error-text.ts'
import type { RecordedSource } from './read-line.ts'

/** No object that an API server stores comes near it, twice with all its managers and in an audit event. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])
const NEWLINE = Buffer.from('\n')
const CHUNK_BYTES = 262_144
/** How often is looked for more. */
const POLL_MS = 200

export interface NamedRecording {
  readonly source: RecordedSource
  readonly path: string
}

/** How a recording is read that grows. */
export interface Following {
  readonly signal: AbortSignal
  /** All that stands in it now is read; called again while nothing more comes. */
  readonly onEnd: () => void
}

/** A file with a JSON object a line, compressed with gzip or not. */
export class Recording implements NamedRecording {
  readonly source: RecordedSource
  readonly path: string
  readonly isCompressed: boolean

  private constructor({ source, path }: NamedRecording, isCompressed: boolean) {
    this.source = source
    this.path = path
    this.isCompressed = isCompressed
  }

  /** Rejects with what to do when it cannot be read. */
  static async open(named: NamedRecording): Promise<Recording> {
    const { path } = named
    try {
      const file = await open(path)
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0)
        return new Recording(named, bytesRead === GZIP.length && buffer.equals(GZIP))
      } finally {
        await file.close()
      }
    } catch (error) {
      throw new Error(`cannot read ${path}: ${errorText(error)}; name a file that is there and may be read`)
    }
  }

  /** Its lines, as many at a time as come together; a last one without an end is told of too, unless more may come. */
  lines(following?: Following): AsyncGenerator<readonly (Buffer | LongLine)[]> {
    return linesOf(following === undefined ? this.#whole() : this.#growing(following), MAX_LINE_BYTES)
  }

  /** With an end for the last line: a recording that was cut off may end in the middle of one. */
  async *#whole(): AsyncGenerator<Buffer> {
    yield* this.#bytes()
    yield NEWLINE
  }

  async *#bytes(): AsyncGenerator<Buffer> {
    const file = createReadStream(this.path)
    if (!this.isCompressed) {
      yield* file as AsyncIterable<Buffer>
      return
    }
    // One that was cut off is read as far as it goes.
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
    // What fails ends the reading below.
    pipeline(file, gunzip, () => undefined)
    yield* gunzip as AsyncIterable<Buffer>
  }

  /** What stands in it and what is written to it later, until the signal aborts. After it was rotated, the file that has its name. */
  async *#growing({ signal, onEnd }: Following): AsyncGenerator<Buffer> {
    let file = await open(this.path)
    let read = 0
    try {
      while (!signal.aborted) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, read)
        read += bytesRead
        if (bytesRead > 0) {
          yield buffer.subarray(0, bytesRead)
          continue
        }
        const next = await this.#nextFile(file, read)
        if (next !== undefined) {
          await file.close()
          file = next
          read = 0
          yield NEWLINE
          continue
        }
        onEnd()
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
      }
    } finally {
      await file.close()
    }
  }

  /** The file that has its name now, where that is another one or begins anew. */
  async #nextFile(file: FileHandle, read: number): Promise<FileHandle | undefined> {
    const named = await stat(this.path).catch(() => undefined)
    if (named === undefined) return undefined
    const { ino, dev } = await file.stat()
    return named.ino !== ino || named.dev !== dev || named.size < read ? await open(this.path) : undefined
  }
}
