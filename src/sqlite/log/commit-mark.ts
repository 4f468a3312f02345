import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import type { CommittedMark } from '../../model/ports/write-ahead-log.ts'

const PRIVATE = 0o600
/** So long that a shorter text leaves nothing of a longer one. */
const LENGTH = 120

/** What is known to be committed, and which file it is committed to. */
interface Mark {
  readonly arrivals: number
  readonly file: string
}

/**
 * Says in a file beside the database how many arrivals it holds, so that the next start knows when some are missing, as they are
 * when the write-ahead log was removed after a kill. A mark is of the database as it is on the disk: of one that another
 * was put in the place of, as a backup is, it says nothing. It is written after commits, so it never promises too much, and is
 * not forced to the disk: an older one only tells of less.
 */
export class CommitMark implements CommittedMark {
  readonly #path: string
  readonly #marked: number
  #last: Mark | undefined
  #fd: number | undefined

  /** Reads the mark; to be made before the database is opened, since that may move the log into it. */
  constructor(path: string) {
    this.#path = existsSync(path) ? realpathSync(path) : path
    const mark = readMark(markOf(this.#path))
    this.#marked = mark !== undefined && mark.file === fileOf(this.#path) ? mark.arrivals : 0
  }

  /** How many arrivals were committed and are gone. */
  missing(arrivals: number): number {
    return Math.max(0, this.#marked - arrivals)
  }

  /** So many arrivals are committed. */
  write(arrivals: number): void {
    try {
      const mark: Mark = { arrivals, file: fileOf(this.#path) }
      if (this.#last?.arrivals === arrivals && this.#last.file === mark.file) return
      this.#fd ??= openSync(markOf(this.#path), 'w', PRIVATE)
      writeSync(this.#fd, JSON.stringify(mark).padEnd(LENGTH), 0)
      this.#last = mark
    } catch {
      // Without a mark nothing is warned of; what keeps it from being written shows in the database as well.
    }
  }

  /** The database was closed, with nothing left in the log. */
  remove(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    if (!existsSync(`${this.#path}-wal`)) rmSync(markOf(this.#path), { force: true })
  }
}

const markOf = (path: string): string => `${path}-mark`

function readMark(path: string): Mark | undefined {
  try {
    const mark = JSON.parse(readFileSync(path, 'utf8')) as Partial<Mark> | null
    if (typeof mark?.arrivals !== 'number' || typeof mark.file !== 'string') return undefined
    return { arrivals: mark.arrivals, file: mark.file }
  } catch {
    return undefined
  }
}

/** Changes when the log is moved into the database, and when another file takes its place. */
function fileOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`
}
