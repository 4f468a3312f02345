import type { CustomReference } from '../../../model/kubernetes/custom-reference.ts'
import type { Told } from '../../clusters/stream-reporter.ts'
import { AuditEvents } from '../read-audit-events.ts'
import { fileAt, openLog, rotatedFiles } from './log-files.ts'
import type { LogFile, LogState } from './log-file.ts'
import { placeText, readPlace, type LogPrint } from './log-place.ts'

export interface LogFollowerSettings {
  readonly path: string
  /** Where a log begins to be read that never was. */
  readonly startAt: 'beginning' | 'end'
  /** The longest line that is read; a longer one is passed over. */
  readonly maxLineBytes: number
  /** How much is read at a time, unless one line is longer. */
  readonly turnBytes: number
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
}

/** Who is told of a log. */
export interface LogReader {
  /** How far it was read before; undefined when it never was. */
  position(): Promise<string | undefined>
  /** Resolves once it is stored; false when everything ends. */
  tell(told: Told): Promise<boolean>
  unreadable(count: number, reason: string): void
  /** So much is written and not stored yet. */
  behind(bytes: number): void
  onTrouble(reason: string): void
}

const NEWLINE = 0x0a

/**
 * Follows an audit log: from where it was read to, through the files that it was meanwhile, to its end, and on as it grows. Each
 * look reads a bounded part. Half a line waits for its end; a line that is none is passed over.
 */
export class LogFollower implements AsyncDisposable {
  readonly #settings: LogFollowerSettings
  readonly #reader: LogReader
  #file: LogFile | undefined
  /** Every line before it is stored. */
  #offset = 0
  /** Of a line that is too long so much was passed over; its end is still to come. */
  #passed = 0
  /** How the file begins, by what was read of it. */
  #print: LogPrint | undefined
  #isPlaced = false
  /** How the file was when no whole line more was found in it. */
  #seen: LogState | undefined
  #state: 'reading' | 'ended' = 'reading'

  constructor(settings: LogFollowerSettings, reader: LogReader) {
    this.#settings = settings
    this.#reader = reader
  }

  /** Reads a part of what is new; true when there may be more. Rejects when the log may not be read. */
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

  /** Nothing is stored any more; asked anew after whatever was awaited. */
  #isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** The file to go on with; undefined while there is none. */
  async #begin(): Promise<LogFile | undefined> {
    const { path, startAt } = this.#settings
    const text = this.#isPlaced ? undefined : await this.#reader.position()
    const place = text === undefined ? undefined : readPlace(text)
    if (place === undefined) {
      const file = await openLog(path)
      // What comes to be while it is looked for is new from its beginning.
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
      `the file of ${path} that was read up to byte ${place.offset} is gone; what else was in it is not known`,
    )
    return await openLog(path)
  }

  /** It is shorter than what was read of it, or begins otherwise. */
  async #isTruncated(file: LogFile, size: number): Promise<boolean> {
    if (size < this.#offset) return true
    return this.#print !== undefined && !(await file.isLike({ offset: this.#offset, print: this.#print }))
  }

  /** What was copied away before is read to its end first. */
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
      `${path} was truncated after ${this.#offset} bytes of it were read; what was written after them is not known`,
    )
    this.#offset = 0
    this.#print = undefined
    return true
  }

  /** Reads lines up to a bound; false where there is only the beginning of one. */
  async #readPart(file: LogFile, size: number): Promise<boolean> {
    const { turnBytes, maxLineBytes } = this.#settings
    let length = turnBytes
    for (;;) {
      const bytes = await file.read(this.#offset + this.#passed, length)
      const end = this.#passed > 0 ? bytes.indexOf(NEWLINE) : bytes.lastIndexOf(NEWLINE)
      if (end >= 0) return await this.#tell(file, bytes.subarray(0, end + 1), size)
      if (this.#passed > 0 || bytes.length >= maxLineBytes) {
        this.#passed += bytes.length
        return true
      }
      if (bytes.length < length) return false
      length = Math.min(length * 2, maxLineBytes)
    }
  }

  /** Tells what is in whole lines, and how far the log is read with them. */
  async #tell(file: LogFile, lines: Buffer, size: number): Promise<boolean> {
    const events = new AuditEvents(this.#settings.references)
    if (this.#passed > 0) events.cannotRead(`it is longer than ${this.#settings.maxLineBytes} bytes`)
    else for (const line of lines.toString('utf8').split('\n')) if (line.trim() !== '') events.addLine(line)
    const offset = this.#offset + this.#passed + lines.length
    const print = await file.print(offset)
    const position = placeText({ inode: file.inode, offset, print })
    const { observations, skipped, unreadable, reason } = events
    if (!(await this.#reader.tell({ observations, skipped, position }))) {
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
    await this.#reader.tell({ observations: [], skipped: {}, position })
  }

  /** At the end of a file: whether the log goes on in another, and if so that is next. */
  async #goOn(file: LogFile, size: number): Promise<boolean> {
    const { path } = this.#settings
    const current = await openLog(path)
    if (current === undefined || current.inode === file.inode) {
      await current?.[Symbol.asyncDispose]()
      this.#reader.behind(Math.max(0, size - this.#offset))
      return false
    }
    const { size: sizeNow, mtimeNs } = await file.state()
    // Something was written before it was renamed.
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

  /** The last line of a file that grows no more has no end to wait for. */
  async #readRest(file: LogFile, size: number): Promise<boolean> {
    const { maxLineBytes } = this.#settings
    const rest = await file.read(this.#offset + this.#passed, Math.min(size - this.#offset, maxLineBytes))
    return await this.#tell(file, rest, size)
  }
}

/** Where the last line begins that is not ended, or the end. */
async function endOf(file: LogFile): Promise<number> {
  const { size } = await file.state()
  const from = Math.max(0, size - 65_536)
  const last = (await file.read(from, size - from)).lastIndexOf(NEWLINE)
  return last < 0 ? size : from + last + 1
}
