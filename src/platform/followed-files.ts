import { errorText } from '../model/faults.ts'
import { readNamedFile } from './named-file.ts'

/** A file, and the setting that names it. */
export interface NamedFile {
  setting: string
  path: string
}

interface Following<T> {
  files: readonly NamedFile[]
  /** How often the files are read again, in milliseconds; 0 is never. */
  intervalMs: number
  /** Makes what is used from the bytes of the files, in their order; throws what is wrong with them. */
  make: (contents: readonly Buffer[]) => T
  /** Told once of a change that could not be used; what was read before stays in use. */
  onTrouble: (reason: string) => void
}

/**
 * What is made of files, such as a certificate, and made anew when one of them changes. They are read again on an interval
 * instead of being watched, because a mounted Secret changes by a link somewhere above the file.
 */
export class FollowedFiles<T> implements Disposable {
  readonly #following: Following<T>
  readonly #timer: NodeJS.Timeout | undefined
  #contents: readonly Buffer[]
  #current: T
  #told = ''
  #onChange: (made: T) => void = () => undefined

  /** Throws when a file cannot be read, or what is in them cannot be used. */
  constructor(following: Following<T>) {
    this.#following = following
    this.#contents = following.files.map(read)
    this.#current = following.make(this.#contents)
    const isFollowed = following.intervalMs > 0 && following.files.length > 0
    this.#timer = isFollowed ? setInterval(() => this.look(), following.intervalMs).unref() : undefined
  }

  get current(): T {
    return this.#current
  }

  /** Has the listener called with what is made of every change from now on. */
  onChange(listener: (made: T) => void): void {
    this.#onChange = listener
  }

  /** Reads the files again now. */
  look(): void {
    try {
      const contents = this.#following.files.map(read)
      if (contents.every((bytes, at) => this.#contents[at]?.equals(bytes))) return
      this.#current = this.#following.make(contents)
      this.#contents = contents
      this.#told = ''
    } catch (error) {
      const reason = errorText(error)
      if (reason !== this.#told) this.#following.onTrouble(`${reason}; what was read before stays in use`)
      this.#told = reason
      return
    }
    this.#onChange(this.#current)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

function read({ setting, path }: NamedFile): Buffer {
  try {
    return readNamedFile(path)
  } catch (cause) {
    throw new Error(`cannot read ${setting}: ${errorText(cause)}; correct the path`, { cause })
  }
}
