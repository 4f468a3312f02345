import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { constants, createGunzip } from 'node:zlib'
import { linesOf, type LongLine } from '../../cluster/json-lines.ts'
import { isObject, type Json, type JsonObject } from '../../kubernetes/json-access.ts'
import { errorText } from '../../model/error-text.ts'

/** No object that an API server stores comes near it, twice with all its managers and in an audit event. */
const MAX_LINE_BYTES = 32 * 1024 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])
const NEWLINE = Buffer.from('\n')
/** Some programs begin a file with it. */
const BYTE_ORDER_MARK = /^\uFEFF/

/** A line of a recording: what stands in it, or why it cannot be read. */
export interface RecordedLine {
  readonly event: JsonObject | undefined
  readonly fault?: string
  /** How far the recording is read with it. */
  readonly place: Place
}

/** How far a recording was read: so many lines, and what they were. */
export interface Place {
  readonly lines: number
  readonly sha256: string
}

/** A file with a JSON object a line, compressed with gzip or not. */
export class Recording {
  readonly path: string
  readonly #isCompressed: boolean

  private constructor(path: string, isCompressed: boolean) {
    this.path = path
    this.#isCompressed = isCompressed
  }

  /** Rejects with what to do when it cannot be read. */
  static async open(path: string): Promise<Recording> {
    try {
      const file = await open(path)
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0)
        return new Recording(path, bytesRead === GZIP.length && buffer.equals(GZIP))
      } finally {
        await file.close()
      }
    } catch (error) {
      throw new Error(`cannot read ${path}: ${errorText(error)}; name a file that is there and may be read`)
    }
  }

  /** By what it is found again; others may begin alike, which its `Place` tells. */
  async firstLine(): Promise<string> {
    for await (const [line] of linesOf(this.#whole(), MAX_LINE_BYTES))
      return hash('sha256', Buffer.isBuffer(line) ? line : '').slice(0, 32)
    return ''
  }

  /** Whether its first lines are those up to a place. */
  async hasTo({ lines, sha256 }: Place): Promise<boolean> {
    const digest = createHash('sha256')
    let number = 0
    for await (const some of linesOf(this.#whole(), MAX_LINE_BYTES)) {
      for (const line of some) {
        digest.update(bytesOf(line))
        if (++number === lines) return digest.digest('hex') === sha256
      }
    }
    return false
  }

  /** Its lines in order, those after a number; a last one without an end is told of too. */
  async *lines(after = 0): AsyncGenerator<RecordedLine> {
    const digest = createHash('sha256')
    let number = 0
    for await (const lines of linesOf(this.#whole(), MAX_LINE_BYTES)) {
      for (const line of lines) {
        number++
        digest.update(bytesOf(line))
        if (number > after && (!Buffer.isBuffer(line) || line.length > 0))
          yield { place: { lines: number, sha256: digest.copy().digest('hex') }, ...readLine(line) }
      }
    }
  }

  /** With an end for the last line: a recording that was cut off may end in the middle of one. */
  async *#whole(): AsyncGenerator<Buffer> {
    yield* this.#bytes()
    yield NEWLINE
  }

  async *#bytes(): AsyncGenerator<Buffer> {
    const file = createReadStream(this.path)
    if (!this.#isCompressed) {
      yield* file as AsyncIterable<Buffer>
      return
    }
    // One that was cut off is read as far as it goes.
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })
    // What fails ends the reading below.
    pipeline(file, gunzip, () => undefined)
    yield* gunzip as AsyncIterable<Buffer>
  }
}

function bytesOf(line: Buffer | LongLine): Buffer {
  return Buffer.isBuffer(line) ? Buffer.concat([line, NEWLINE]) : Buffer.from(`${line.passedOver}\n`)
}

function readLine(line: Buffer | LongLine): Pick<RecordedLine, 'event' | 'fault'> {
  if (!Buffer.isBuffer(line)) return { event: undefined, fault: `has more than ${MAX_LINE_BYTES >> 20} MiB` }
  try {
    const event = JSON.parse(line.toString('utf8').replace(BYTE_ORDER_MARK, '')) as Json
    return isObject(event) ? { event } : { event: undefined, fault: 'is no JSON object' }
  } catch {
    return { event: undefined, fault: 'is no JSON, or was cut off' }
  }
}
