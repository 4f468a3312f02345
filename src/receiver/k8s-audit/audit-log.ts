import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { isObject, type Json, numberIn, textIn } from '../../kube/objects/object-json.ts'
import { readAuditEvents } from '../../kube/objects/audit-events.ts'
import { errorText, isOutOfMemory } from '../../model/faults.ts'
import type { ReadingRules } from '../../model/kubernetes-objects.ts'
import type { AuditedRequest, SkipReason } from '../../model/kubernetes-observations.ts'
import type { ReadObservations } from '../observation-reporter.ts'

export interface LogFollowerSettings {
  readonly path: string
  /** Where to start in a log without a stored position. */
  readonly startAt: 'beginning' | 'end'
  /** Longer lines are skipped. */
  readonly maxLineBytes: number
  /** How much is read at a time, unless one line is longer. */
  readonly turnBytes: number
  readonly reading: ReadingRules
}

/** What receives the events of a log. */
interface LogReader {
  /** The stored position; undefined without one. */
  position(): Promise<string | undefined>
  /** Resolves to true once stored, to false at shutdown. */
  report(read: ReadObservations): Promise<boolean>
  unreadable(count: number, reason: string): void
  /** Called with how many bytes of the log are not stored yet. */
  behind(bytes: number): void
  onTrouble(reason: string): void
}

const NEWLINE = 0x0a

/**
 * Follows an audit log: from the stored position, through the files that were rotated away since, to its end, and on as it grows. Each look
 * reads a bounded part. An unfinished line waits for its end; a line that cannot be read is skipped.
 */
export class LogFollower implements AsyncDisposable {
  readonly #settings: LogFollowerSettings
  readonly #reader: LogReader
  #file: LogFile | undefined
  /** Every line before it is stored. */
  #offset = 0
  /** How many bytes of a line that is too long were skipped so far. */
  #passed = 0
  /** The fingerprint of the file, of the bytes read so far. */
  #print: LogPrint | undefined
  #isPlaced = false
  /** The state of the file when it last had no further whole line. */
  #seen: LogState | undefined
  #state: 'reading' | 'ended' = 'reading'

  constructor(settings: LogFollowerSettings, reader: LogReader) {
    this.#settings = settings
    this.#reader = reader
  }

  /** Reads a bounded part of the new lines; true when there may be more. Rejects when the log cannot be read. */
  async look(): Promise<boolean> {
    const file = (this.#file ??= await this.#begin())
    if (file === undefined || this.#isEnded()) return false
    const state = await file.state()
    const { size } = state
    const isUnchanged = size === this.#seen?.size && state.mtimeNs === this.#seen.mtimeNs
    if (!isUnchanged && (await this.#isTruncated(file, size))) return await this.#afterTruncation(file)
    const isNew = !isUnchanged && size > this.#offset + this.#passed
    if (isNew && (await this.#readPart(file, size))) return true
    if (this.#isEnded()) return false
    this.#seen = state
    return await this.#goOn(file, size)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.[Symbol.asyncDispose]()
  }

  /** Whether shutdown has begun. A method, since the state changes during an await. */
  #isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** The file to continue with; undefined while there is none. */
  async #begin(): Promise<LogFile | undefined> {
    const { path, startAt } = this.#settings
    const text = this.#isPlaced ? undefined : await this.#reader.position()
    const place = text === undefined ? undefined : readPlace(text)
    if (place === undefined) {
      const file = await openLog(path)
      // A file that appears later is new, and read from its beginning.
      if (file !== undefined && startAt === 'end' && !this.#isPlaced) this.#offset = await endOf(file)
      this.#isPlaced = true
      if (file !== undefined) await this.#keepPlace(file)
      else
        this.#reader.onTrouble(`there is no file ${path}; is it where the API server writes its audit log?`)
      return file
    }
    const file = await fileAt(place, path)
    this.#isPlaced = true
    if (file !== undefined) {
      this.#offset = place.offset
      this.#print = place.print
      return file
    }
    this.#reader.onTrouble(
      `the file of ${path} that was read up to byte ${place.offset} is gone; the rest of it was not read`,
    )
    return await openLog(path)
  }

  /** Whether the file is shorter than the part that was read, or begins differently. */
  async #isTruncated(file: LogFile, size: number): Promise<boolean> {
    if (size < this.#offset) return true
    return this.#print !== undefined && !(await file.isLike({ offset: this.#offset, print: this.#print }))
  }

  /** If the log was copied before (logrotate's copytruncate), reads the copy to its end first. */
  async #afterTruncation(file: LogFile): Promise<boolean> {
    const { path } = this.#settings
    const place = { inode: '', offset: this.#offset, print: this.#print ?? { bytes: 0, hash: '' } }
    const copy = await fileAt(place, path)
    this.#seen = undefined
    this.#passed = 0
    if (copy !== undefined) {
      await file[Symbol.asyncDispose]()
      this.#file = copy
      return true
    }
    this.#reader.onTrouble(
      `${path} was truncated after ${this.#offset} bytes of it were read; what was written between is lost`,
    )
    this.#offset = 0
    this.#print = undefined
    return true
  }

  /** Reads whole lines up to a bound; false when there is none. */
  async #readPart(file: LogFile, size: number): Promise<boolean> {
    const { turnBytes, maxLineBytes } = this.#settings
    let length = turnBytes
    for (;;) {
      const bytes = await file.read(this.#offset + this.#passed, length)
      const end = this.#passed > 0 ? bytes.indexOf(NEWLINE) : bytes.lastIndexOf(NEWLINE)
      if (end >= 0) return await this.#report(file, bytes.subarray(0, end + 1), size)
      if (this.#passed > 0 || bytes.length >= maxLineBytes) {
        this.#passed += bytes.length
        return true
      }
      if (bytes.length < length) return false
      length = Math.min(length * 2, maxLineBytes)
    }
  }

  /** Reports the events of these lines, and the position behind them. */
  async #report(file: LogFile, lines: Buffer, size: number): Promise<boolean> {
    const events = new AuditEvents(this.#settings.reading)
    if (this.#passed > 0) events.cannotRead(`it is longer than ${this.#settings.maxLineBytes} bytes`)
    else for (const line of lines.toString('utf8').split('\n')) if (line.trim() !== '') events.addLine(line)
    const offset = this.#offset + this.#passed + lines.length
    const print = await file.print(offset)
    const position = placeText({ inode: file.inode, offset, print })
    const { observations, skipped, unreadable, reason } = events
    if (!(await this.#reader.report({ observations, skipped, position }))) {
      this.#state = 'ended'
      return false
    }
    if (unreadable > 0)
      this.#reader.unreadable(
        unreadable,
        `of the lines of ${file.path} between the bytes ${this.#offset} and ${offset} ${unreadable} cannot be read: ${reason}`,
      )
    this.#offset = offset
    this.#print = print
    this.#passed = 0
    this.#reader.behind(Math.max(0, size - offset))
    return true
  }

  async #keepPlace(file: LogFile): Promise<void> {
    this.#print = await file.print(this.#offset)
    const position = placeText({ inode: file.inode, offset: this.#offset, print: this.#print })
    await this.#reader.report({ observations: [], skipped: {}, position })
  }

  /** At the end of a file: if the log was rotated, moves on to the next file. True when there may be more to read. */
  async #goOn(file: LogFile, size: number): Promise<boolean> {
    const { path } = this.#settings
    const current = await openLog(path)
    if (current === undefined || current.inode === file.inode) {
      await current?.[Symbol.asyncDispose]()
      this.#reader.behind(Math.max(0, size - this.#offset))
      return false
    }
    const { size: sizeNow, mtimeNs } = await file.state()
    // Lines were written before the rename.
    if (sizeNow !== size) {
      await current[Symbol.asyncDispose]()
      return true
    }
    const hasRest = sizeNow > this.#offset
    if (hasRest && !(await this.#readRest(file, sizeNow))) {
      await current[Symbol.asyncDispose]()
      return false
    }
    const between = (await rotatedFiles(path)).find(
      (other) => other.inode !== file.inode && other.inode !== current.inode && other.mtimeNs > mtimeNs,
    )
    const next = between === undefined ? current : ((await openLog(between.path)) ?? current)
    if (next !== current) await current[Symbol.asyncDispose]()
    await file[Symbol.asyncDispose]()
    this.#file = next
    this.#offset = 0
    this.#passed = 0
    this.#print = undefined
    this.#seen = undefined
    await this.#keepPlace(next)
    return true
  }

  /** Reports the last line of a rotated file, which may lack its newline. */
  async #readRest(file: LogFile, size: number): Promise<boolean> {
    const { maxLineBytes } = this.#settings
    const rest = await file.read(this.#offset + this.#passed, Math.min(size - this.#offset, maxLineBytes))
    return await this.#report(file, rest, size)
  }
}

/** Where an unfinished last line begins, or else the end of the file. */
async function endOf(file: LogFile): Promise<number> {
  const { size } = await file.state()
  const from = Math.max(0, size - 65_536)
  const last = (await file.read(from, size - from)).lastIndexOf(NEWLINE)
  return last < 0 ? size : from + last + 1
}

/** How many files beside a log are examined at most. */
const MAX_FILES = 256
const COMPRESSED = new Set(['.gz', '.zst', '.xz', '.bz2', '.lz4', '.zip'])

/** A file whose name is that of a rotated log. */
interface RotatedFile {
  readonly path: string
  readonly inode: string
  readonly mtimeNs: bigint
}

/**
 * The rotated files of a log, oldest first. Kubernetes names them `audit-<time>.log`, logrotate `audit.log.1` and
 * `audit.log-<date>`. Compressed files are left out: they were read before they were compressed.
 */
async function rotatedFiles(path: string): Promise<RotatedFile[]> {
  const [directory, name] = [dirname(path), basename(path)]
  const stem = name.slice(0, name.length - extname(name).length)
  const names = await readdir(directory).catch(() => [])
  const found: RotatedFile[] = []
  for (const other of names) {
    if (other === name || COMPRESSED.has(extname(other))) continue
    if (!other.startsWith(`${name}.`) && !other.startsWith(`${name}-`) && !other.startsWith(`${stem}-`))
      continue
    const file = await stat(join(directory, other), { bigint: true }).catch(() => undefined)
    if (file?.isFile() !== true) continue
    found.push({ path: join(directory, other), inode: String(file.ino), mtimeNs: file.mtimeNs })
    if (found.length === MAX_FILES) break
  }
  return found.sort((one, other) => (one.mtimeNs < other.mtimeNs ? -1 : 1))
}

/** The file that was read up to a place, under any name; undefined when it was deleted or compressed. */
async function fileAt(place: LogPlace, path: string): Promise<LogFile | undefined> {
  const rotated = (await rotatedFiles(path)).reverse().map((file) => file.path)
  let copy: LogFile | undefined
  for (const candidate of [path, ...rotated]) {
    const file = await openLog(candidate)
    if (file === undefined) continue
    const isSame = file.inode === place.inode
    // Without a fingerprint a copy cannot be told from another file.
    if ((isSame || (copy === undefined && place.print.bytes > 0)) && (await file.isLike(place))) {
      if (isSame) {
        await copy?.[Symbol.asyncDispose]()
        return file
      }
      copy = file
    } else await file[Symbol.asyncDispose]()
  }
  return copy
}

/** Undefined when there is no such file. Rejects when it cannot be read. */
export async function openLog(path: string): Promise<LogFile | undefined> {
  try {
    return await LogFile.open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The size of a file, and when it was last written. */
interface LogState {
  readonly size: number
  readonly mtimeNs: bigint
}

/** An open log file; a rename does not affect it. */
class LogFile implements AsyncDisposable {
  readonly path: string
  readonly inode: string
  readonly #handle: FileHandle

  private constructor(path: string, inode: string, handle: FileHandle) {
    this.path = path
    this.inode = inode
    this.#handle = handle
  }

  /** Rejects as `open` does. */
  static async open(path: string): Promise<LogFile> {
    // Without O_NONBLOCK, opening a pipe would block one of libuv's few threads, which files, DNS and zlib share.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const state = await handle.stat({ bigint: true })
    if (!state.isFile()) {
      await handle.close()
      throw new Error(
        'it is no file but a pipe, a device or a folder; name a file in --audit-log-path of the API server and here',
      )
    }
    const { ino } = state
    return new LogFile(path, String(ino), handle)
  }

  async state(): Promise<LogState> {
    const { size, mtimeNs } = await this.#handle.stat({ bigint: true })
    return { size: Number(size), mtimeNs }
  }

  /** Up to `most` bytes from `offset` on; fewer at the end of the file. */
  async read(offset: number, most: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(most)
    const { bytesRead } = await this.#handle.read(buffer, 0, most, offset)
    return buffer.subarray(0, bytesRead)
  }

  /** The fingerprint of the file once it is read up to `offset`. */
  async print(offset: number): Promise<LogPrint> {
    const bytes = printLength(offset)
    return { bytes, hash: bytes === 0 ? '' : hash('sha256', await this.read(0, bytes), 'base64url') }
  }

  /** Whether it may be the file of this place: it is long enough and has the same fingerprint. */
  async isLike({ offset, print }: Pick<LogPlace, 'offset' | 'print'>): Promise<boolean> {
    const { size } = await this.state()
    return size >= offset && (await this.print(print.bytes)).hash === print.hash
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}

/** How many bytes a fingerprint covers at most. */
const PRINT_BYTES = 1_024

/** How far a log was read: the offset in a file, which is identified by its inode and the fingerprint of its first bytes. */
interface LogPlace {
  readonly inode: string
  readonly offset: number
  readonly print: LogPrint
}

/** The fingerprint of the first `bytes` bytes of a file. */
interface LogPrint {
  readonly bytes: number
  readonly hash: string
}

/** How many bytes the fingerprint covers when the file is read up to `offset`. */
const printLength = (offset: number): number => Math.min(offset, PRINT_BYTES)

function placeText(place: LogPlace): string {
  return JSON.stringify(place)
}

/** Undefined when the text is not a valid place. */
function readPlace(text: string): LogPlace | undefined {
  let place: Json
  try {
    place = JSON.parse(text) as Json
  } catch {
    return undefined
  }
  if (!isObject(place) || !isObject(place.print)) return undefined
  const [inode, offset] = [textIn(place, 'inode'), numberIn(place, 'offset')]
  const print = { bytes: numberIn(place.print, 'bytes'), hash: textIn(place.print, 'hash') }
  const isSound = inode !== '' && Number.isSafeInteger(offset) && offset >= 0 && print.bytes <= PRINT_BYTES
  return isSound ? { inode, offset, print } : undefined
}

/** Collects the observations of several audit events. */
export class AuditEvents {
  readonly observations: AuditedRequest[] = []
  readonly skipped: Partial<Record<SkipReason, number>> = {}
  unreadable = 0
  /** Why the first unreadable event cannot be read. */
  reason = ''
  readonly #reading: ReadingRules

  constructor(reading: ReadingRules) {
    this.#reading = reading
  }

  /** Reads the event in a line of a log. */
  addLine(line: string): void {
    try {
      this.add(JSON.parse(line) as Json)
    } catch (error) {
      this.cannotRead(errorText(error))
    }
  }

  /** Reads one event, and keeps only what is needed of it. */
  add(event: Json): void {
    if (!isObject(event)) {
      this.cannotRead('it is no JSON object')
      return
    }
    if (textIn(event, 'stage') === '') {
      this.cannotRead('it is no event of an audit log')
      return
    }
    try {
      const read = readAuditEvents(event, this.#reading)
      if (typeof read === 'string') this.skipped[read] = (this.skipped[read] ?? 0) + 1
      else this.observations.push(...read)
    } catch (error) {
      if (isOutOfMemory(error)) throw error
      this.cannotRead(errorText(error))
    }
  }

  cannotRead(reason: string): void {
    this.unreadable++
    this.reason ||= reason
  }
}
