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
  /** Makes the value from the contents of the files, in their order; throws when they cannot be used. */
  make: (contents: readonly Buffer[]) => T
  /** A problem of usable contents, such as an expired certificate; reported once. */
  doubt?: (contents: readonly Buffer[]) => string | undefined
  /** Called once for a change that cannot be used (the last usable contents stay in use), and for a `doubt`. */
  onTrouble: (reason: string) => void
}

/** How often `doubt` is checked when the files are not reread. */
const DOUBT_MS = 60_000

/** How long a change of several files may take: a certificate and its key are not replaced at the same moment. */
const CHANGED_WITHIN_MS = 10_000

/**
 * A value made from files, such as a certificate, and made again when one of them changes. The files are reread on an interval
 * and not watched, because a mounted Secret changes by a symbolic link above the file.
 */
export class FollowedFiles<T> implements Disposable {
  readonly #following: Following<T>
  readonly #timer: NodeJS.Timeout | undefined
  #contents: readonly Buffer[]
  #current: T
  #told = ''
  /** The next read of files that could not be used the last time. */
  #again: NodeJS.Timeout | undefined
  #doubted: string | undefined
  #onChange: (made: T) => void = () => undefined

  /** Throws when a file cannot be read or its contents cannot be used. */
  constructor(following: Following<T>) {
    this.#following = following
    this.#contents = following.files.map(read)
    this.#current = following.make(this.#contents)
    const isFollowed = following.intervalMs > 0 && following.files.length > 0
    if (isFollowed) this.#timer = setInterval(() => this.look(), following.intervalMs).unref()
    else if (following.doubt !== undefined)
      this.#timer = setInterval(() => this.#tellDoubt(), DOUBT_MS).unref()
    this.#tellDoubt()
  }

  get current(): T {
    return this.#current
  }

  /** Calls the listener with the new value at every change from now on. */
  onChange(listener: (made: T) => void): void {
    this.#onChange = listener
  }

  /** Reads the files again now. */
  look(): void {
    if (this.#readAgain()) this.#onChange(this.#current)
    this.#tellDoubt()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    clearTimeout(this.#again)
  }

  /** True when the value has changed. */
  #readAgain(): boolean {
    const isSecondLook = this.#again !== undefined
    clearTimeout(this.#again)
    this.#again = undefined
    try {
      const contents = this.#following.files.map(read)
      const isNew = !contents.every((bytes, at) => this.#contents[at]?.equals(bytes))
      if (isNew) this.#current = this.#following.make(contents)
      this.#contents = contents
      this.#told = ''
      return isNew
    } catch (error) {
      const reason = errorText(error)
      if (reason === this.#told) return false
      if (!isSecondLook) {
        this.#again = setTimeout(() => this.look(), CHANGED_WITHIN_MS).unref()
        return false
      }
      this.#following.onTrouble(`${reason}; what was read before stays in use`)
      this.#told = reason
      return false
    }
  }

  #tellDoubt(): void {
    const doubt = this.#following.doubt?.(this.#contents)
    if (doubt !== undefined && doubt !== this.#doubted) this.#following.onTrouble(doubt)
    this.#doubted = doubt
  }
}

function read({ setting, path }: NamedFile): Buffer {
  try {
    return readNamedFile(path)
  } catch (cause) {
    throw new Error(`cannot read ${setting}: ${errorText(cause)}; correct the path`, { cause })
  }
}
