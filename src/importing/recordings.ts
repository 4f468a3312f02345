import { hash } from 'node:crypto'
import { constants as files, createReadStream } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, type Gunzip } from 'node:zlib'
import {
  arrayIn,
  type BlankLines,
  isObject,
  type JsonObject,
  linesOf,
  type LongLine,
  objectIn,
  parseBounded,
  textIn,
} from '../kube/objects/object-json.ts'
import { readAuditEvents } from '../kube/objects/audit-events.ts'
import { readWatchEvent } from '../kube/objects/observations.ts'
import { errorText, isOutOfMemory, reasonOf } from '../model/faults.ts'
import type { ReadingRules } from '../model/kubernetes-objects.ts'
import { serializeObservations } from '../model/kubernetes-observations.ts'
import { parseRfc3339, type UnixNanos } from '../model/time-and-size.ts'
import { systemClock } from '../platform/system-clock.ts'
import type { OrderedLine } from '../store/sqlite/import-order.ts'
import { lastTickBeforeMs } from './recorded-time.ts'

/** The longest line: larger than an audit event with the largest object twice. */
const MAX_LINE_BYTES = 32 * 1024 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])
const NEWLINE = Buffer.from('\n')
const CHUNK_BYTES = 262_144
/** How often a growing recording is read. */
const POLL_MS = 200

export interface NamedRecording {
  readonly source: RecordedSource
  readonly path: string
}

/** Options for a recording that grows. */
interface Following {
  readonly signal: AbortSignal
  /** Called when its end is reached, and again while it does not grow. */
  readonly onEnd: () => void
}

/** A file with a JSON object a line, compressed with gzip or not. */
export class Recording implements NamedRecording {
  readonly source: RecordedSource
  readonly path: string
  readonly isCompressed: boolean
  /** Whether it ended before its gzip did, once its lines have been read. */
  isCutShort = false

  private constructor({ source, path }: NamedRecording, isCompressed: boolean) {
    this.source = source
    this.path = path
    this.isCompressed = isCompressed
  }

  /** Rejects with what to do when it cannot be read. */
  static async open(named: NamedRecording): Promise<Recording> {
    const { path } = named
    try {
      // Without O_NONBLOCK, opening a pipe would block one of libuv's few threads.
      const file = await open(path, files.O_RDONLY | files.O_NONBLOCK)
      try {
        const state = await file.stat()
        if (!state.isFile() && !state.isDirectory()) throw new Error('it is no file but a pipe or a device')
        const { buffer, bytesRead } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0)
        return new Recording(named, bytesRead === GZIP.length && buffer.equals(GZIP))
      } finally {
        await file.close()
      }
    } catch (error) {
      throw new Error(`cannot read ${path}: ${errorText(error)}; name a file that is there and may be read`)
    }
  }

  /** Its lines in batches; the last one may lack its end, unless the recording grows. */
  lines(following?: Following): AsyncGenerator<readonly (Buffer | LongLine | BlankLines)[]> {
    return linesOf(following === undefined ? this.#whole() : this.#growing(following), MAX_LINE_BYTES)
  }

  /** Adds an end to the last line: a truncated recording may lack it. */
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
    const gunzip = createGunzip()
    // A failure destroys gunzip, which ends the loop below.
    writeAndEnd(file, gunzip).catch((error: unknown) => gunzip.destroy(error as Error))
    try {
      yield* gunzip as AsyncIterable<Buffer>
    } catch (cause) {
      // A truncated file is read as far as it goes.
      this.isCutShort = cause instanceof Error && 'code' in cause && cause.code === 'Z_BUF_ERROR'
      if (this.isCutShort) return
      throw new Error(
        `${this.path} is damaged as gzip, after ${gunzip.bytesWritten} bytes of it: ${errorText(cause)}; ` +
          'name a whole copy of it, or what of it gzip -dc prints',
        { cause },
      )
    } finally {
      file.destroy()
    }
  }

  /** Its content, and what is appended later, until the signal aborts. Follows rotation. */
  async *#growing({ signal, onEnd }: Following): AsyncGenerator<Buffer> {
    let file = await open(this.path)
    let next: FileHandle | undefined
    let read = 0
    try {
      while (!signal.aborted) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, read)
        read += bytesRead
        if (bytesRead > 0) {
          yield buffer.subarray(0, bytesRead)
          continue
        }
        if (next !== undefined) {
          await file.close()
          file = next
          next = undefined
          read = 0
          yield NEWLINE
          continue
        }
        // The old file is read once more: lines may have been written between its last read and the rotation.
        next = await this.#fileAfter(file)
        if (next !== undefined) continue
        if ((await file.stat()).size < read) {
          read = 0
          yield NEWLINE
          continue
        }
        onEnd()
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
      }
    } finally {
      await file.close()
      await next?.close()
    }
  }

  /** The new file under the name of the recording after a rotation; undefined without a rotation. */
  async #fileAfter(file: FileHandle): Promise<FileHandle | undefined> {
    const named = await stat(this.path).catch(() => undefined)
    if (named === undefined) return undefined
    const { ino, dev } = await file.stat()
    return named.ino !== ino || named.dev !== dev ? await open(this.path) : undefined
  }
}

/** Ends `gunzip` only after every chunk is decompressed and read: ending it earlier would lose the rest. */
async function writeAndEnd(from: Readable, gunzip: Gunzip): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    gunzip.write(chunk, (error) => {
      if (error) reject(error)
      else resolve(undefined)
    })
    await promise
  }
  while (gunzip.readableLength > 0 && !gunzip.destroyed) await nextTurn()
  gunzip.end()
}

/** After so long without growth a recording no longer holds up the others. */
const QUIET_MS = 10_000
/** How far out of order lines may be: an API server logs concurrent requests in any order. */
const OUT_OF_ORDER_NS = 1_000_000_000n

/** Takes a line and returns its time. */
type TakeLine = (from: Recording, line: Buffer | LongLine, number: number) => UnixNanos

interface Growing {
  readonly recording: Recording
  lastNs: UnixNanos
  /** When its end was reached; undefined while it is read. */
  endMs: number | undefined
}

/** Reads recordings as they grow, all at the same time, until a signal aborts. */
export class GrowingRecordings implements AsyncDisposable {
  readonly #growing: readonly Growing[]
  readonly #ended = new AbortController()
  readonly #signal: AbortSignal
  readonly #take: TakeLine
  readonly #reading: Promise<unknown>
  #moved = Promise.withResolvers<undefined>()

  /** `more` rejects with what to do if a recording can no longer be read. */
  constructor(recordings: readonly Recording[], signal: AbortSignal, take: TakeLine) {
    const compressed = recordings.find(({ isCompressed }) => isCompressed)
    if (compressed !== undefined)
      throw new Error(
        `--follow cannot read ${compressed.path}, which is compressed; name the file that is written to`,
      )
    this.#signal = AbortSignal.any([signal, this.#ended.signal])
    this.#take = take
    this.#growing = recordings.map((recording) => ({ recording, lastNs: 0n, endMs: undefined }))
    this.#reading = Promise.all(this.#growing.map((one) => this.#read(one)))
    this.#reading.then(
      () => this.#moved.resolve(undefined),
      (error: unknown) => this.#moved.reject(error),
    )
    this.#moved.promise.catch(() => undefined)
  }

  get isOver(): boolean {
    return this.#signal.aborted
  }

  /** The time up to which all lines have been read, Unix milliseconds. */
  get readToMs(): number {
    const nowMs = systemClock.monotonicMs()
    const isQuiet = ({ endMs = nowMs }: Growing): boolean => nowMs - endMs > QUIET_MS
    const times = (some: readonly Growing[]): UnixNanos[] => some.map(({ lastNs }) => lastNs)
    const lively = this.#growing.filter((one) => !isQuiet(one))
    const readToNs =
      lively.length > 0
        ? times(lively).reduce((first, ns) => (ns < first ? ns : first))
        : times(this.#growing).reduce((last, ns) => (ns > last ? ns : last))
    return lastTickBeforeMs(readToNs > OUT_OF_ORDER_NS ? readToNs - OUT_OF_ORDER_NS : 0n)
  }

  /** Resolves once the end of each was reached. */
  async firstEnd(): Promise<void> {
    while (!this.isOver && this.#growing.some(({ endMs }) => endMs === undefined)) await this.more()
  }

  /** Resolves once there may be more to do. */
  async more(): Promise<void> {
    await this.#moved.promise
    if (this.isOver) return
    this.#moved = Promise.withResolvers()
    this.#moved.promise.catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#reading.catch(() => undefined)
  }

  async #read(one: Growing): Promise<void> {
    const { recording } = one
    const onEnd = (): void => {
      one.endMs ??= systemClock.monotonicMs()
      this.#moved.resolve(undefined)
    }
    let number = 0
    for await (const lines of recording.lines({ signal: this.#signal, onEnd })) {
      one.endMs = undefined
      for (const line of lines) {
        if ('blank' in line) {
          number += line.blank
          continue
        }
        const atNs = this.#take(recording, line, ++number)
        if (atNs > one.lastNs) one.lastNs = atNs
      }
    }
  }
}

export type RecordedSource = 'audit' | 'watch'

/** A line of a recording: its observation and time, or why it cannot be read. */
type ReadLine = { readonly line: OrderedLine; readonly isTimed: boolean } | { readonly fault: string }

/** Fields that every event has, and the error for a line without them. */
const MARK = {
  audit: { key: 'stage', lacking: 'is no event of an audit log' },
  watch: { key: 'type', lacking: 'is no event of a watch' },
} as const
/** Some programs write a byte order mark, and carriage returns at ends of lines. */
const NOT_CONTENT = /^\uFEFF|\r$/g
const HASH_BYTES = 16

/** Reads a line; undefined if it is blank. */
export function readLine(
  source: RecordedSource,
  line: Buffer | LongLine,
  reading: ReadingRules,
): ReadLine | undefined {
  if (!Buffer.isBuffer(line)) return { fault: `has more than ${MAX_LINE_BYTES >> 20} MiB` }
  const text = line.toString('utf8').replaceAll(NOT_CONTENT, '')
  if (text === '') return undefined
  const event = eventOf(text)
  if ('fault' in event) return event
  if (textIn(event.event, MARK[source].key) === '') return { fault: MARK[source].lacking }
  try {
    return lineOf(source, event.event, hash('sha256', `${source} ${text}`, 'buffer'), reading)
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return { fault: `cannot be read: ${reasonOf(error)}` }
  }
}

function lineOf(source: RecordedSource, event: JsonObject, digest: Buffer, reading: ReadingRules): ReadLine {
  const { atNs, isTimed } = source === 'audit' ? timeOfAudit(event) : timeOfWatch(event)
  const read =
    source === 'audit' ? readAuditEvents(event, reading) : readWatchEvent(event, atNs, undefined, reading)
  const key = { atNs, hash: digest.subarray(0, HASH_BYTES) }
  if (typeof read === 'string')
    return {
      line: { ...key, version: 0n, observations: serializeObservations([]), skipped: read },
      isTimed: true,
    }
  const all = 'source' in read ? [read] : read
  const [{ version = 0n } = {}] = all
  const line = { ...key, version, observations: serializeObservations(all), skipped: undefined }
  return { line, isTimed }
}

function eventOf(text: string): { readonly event: JsonObject } | { readonly fault: string } {
  try {
    const event = parseBounded(Buffer.from(text))
    return isObject(event) ? { event } : { fault: 'is no JSON object' }
  } catch (error) {
    if (error instanceof RangeError) return { fault: `cannot be read: ${error.message}` }
    return { fault: 'is no JSON, or was cut off' }
  }
}

interface TimeOfLine {
  readonly atNs: UnixNanos
  /** Whether the time is exact; otherwise it is the earliest possible time. */
  readonly isTimed: boolean
}

function timeOfAudit(event: JsonObject): TimeOfLine {
  return { atNs: parseRfc3339(textIn(event, 'stageTimestamp')) ?? 0n, isTimed: true }
}

/** When a watch delivered a version; if not recorded, the latest time in the object itself. */
function timeOfWatch(event: JsonObject): TimeOfLine {
  const deliveredNs = parseRfc3339(textIn(event, 'time'))
  if (deliveredNs !== undefined) return { atNs: deliveredNs, isTimed: true }
  const metadata = objectIn(objectIn(event, 'object'), 'metadata')
  const times = [
    textIn(metadata, 'creationTimestamp'),
    textIn(metadata, 'deletionTimestamp'),
    ...arrayIn(metadata, 'managedFields').map((entry) => textIn(entry, 'time')),
  ]
  const atNs = times.reduce((latest, text) => {
    const time = parseRfc3339(text) ?? 0n
    return time > latest ? time : latest
  }, 0n)
  return { atNs, isTimed: false }
}
