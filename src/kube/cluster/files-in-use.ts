import { statSync } from 'node:fs'
import { errorText } from '../../model/faults.ts'
import { readNamedFile } from '../../platform/named-file.ts'

/** Reads files, and notes which they were and their state. */
export class FilesRead {
  readonly #isFirst: boolean
  readonly #states = new Map<string, string>()
  /** What is wrong with what is used all the same. */
  doubted: string | undefined

  constructor(isFirst: boolean) {
    this.#isFirst = isFirst
  }

  /** As `readNamedFile`. */
  read(path: string): Buffer {
    this.isThere(path)
    return readNamedFile(path)
  }

  isThere(path: string): boolean {
    // From before it is read: what is written meanwhile is read again.
    const state = this.#states.get(path) ?? stateOf(path)
    this.#states.set(path, state)
    return state !== ''
  }

  get areUnchanged(): boolean {
    for (const [path, state] of this.#states) if (state !== stateOf(path)) return false
    return true
  }

  /** Throws it, unless there is nothing from before that could stay in use. */
  doubt(reason: string | undefined): void {
    if (reason === undefined) return
    if (!this.#isFirst) throw new Error(reason)
    this.doubted ??= reason
  }
}

/** Told what is wrong with files, and undefined once that is over. */
export type FilesTrouble = (reason: string | undefined) => void

/**
 * What is made of files, and made anew when it is needed after one of them has changed. Which files these are may depend on what is in
 * them. While they cannot be used, as when they are half written, what was made before stays in use, and they are read each time.
 */
export class FilesInUse<T> {
  readonly #make: (files: FilesRead) => T
  readonly #onTrouble: FilesTrouble
  #files: FilesRead
  #current: T
  #isSure = true
  #told: string | undefined

  /** Throws as `make` does. */
  constructor(make: (files: FilesRead) => T, onTrouble: FilesTrouble = () => undefined) {
    this.#make = make
    this.#onTrouble = onTrouble
    this.#files = new FilesRead(true)
    this.#current = make(this.#files)
    this.#tell(this.#files.doubted)
  }

  get current(): T {
    if (!this.#isSure || !this.#files.areUnchanged) this.#readAgain()
    return this.#current
  }

  /** Has them read again even if they seem unchanged. */
  lookAgain(): void {
    this.#isSure = false
  }

  #readAgain(): void {
    this.#files = new FilesRead(false)
    try {
      this.#current = this.#make(this.#files)
      this.#tell(undefined)
    } catch (error) {
      this.#tell(errorText(error), '; what was read before stays in use')
    }
  }

  #tell(trouble: string | undefined, consequence = ''): void {
    this.#isSure = trouble === undefined
    if (trouble !== this.#told) this.#onTrouble(trouble && trouble + consequence)
    this.#told = trouble
  }
}

/** By links too, as in a mounted Secret. Empty for what is not there. */
function stateOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch {
    return ''
  }
}
