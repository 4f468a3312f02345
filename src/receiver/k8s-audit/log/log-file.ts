import { hash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { printLength, type LogPlace, type LogPrint } from './log-place.ts'

/** How long a file is, and when it was written last. */
export interface LogState {
  readonly size: number
  readonly mtimeNs: bigint
}

/** A file of a log, open: it is the same one however it is called meanwhile. */
export class LogFile implements AsyncDisposable {
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
    const handle = await open(path, 'r')
    const { ino } = await handle.stat({ bigint: true })
    return new LogFile(path, String(ino), handle)
  }

  async state(): Promise<LogState> {
    const { size, mtimeNs } = await this.#handle.stat({ bigint: true })
    return { size: Number(size), mtimeNs }
  }

  /** At most so many bytes from a place on; fewer at the end. */
  async read(offset: number, most: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(most)
    const { bytesRead } = await this.#handle.read(buffer, 0, most, offset)
    return buffer.subarray(0, bytesRead)
  }

  /** The fingerprint by which it is known once so much of it was read. */
  async print(offset: number): Promise<LogPrint> {
    const bytes = printLength(offset)
    return { bytes, hash: bytes === 0 ? '' : hash('sha256', await this.read(0, bytes), 'base64url') }
  }

  /** Whether it may be what was read up to a place: it is as long, and begins alike. */
  async isLike({ offset, print }: Pick<LogPlace, 'offset' | 'print'>): Promise<boolean> {
    const { size } = await this.state()
    return size >= offset && (await this.print(print.bytes)).hash === print.hash
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}
