import { statSync } from 'node:fs'
import { errorText } from '../../model/faults.ts'
import { readNamedFile } from '../../platform/named-file.ts'

/** Reads files, and records which files and in which state. */
export class FilesRead {
  readonly #isFirst: boolean
  readonly #states = new Map<string, string>()
  /** A problem of contents that are used all the same. */
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
    // The state before the read: a write during the read then shows as a change.
    const state = this.#states.get(path) ?? stateOf(path)
    this.#states.set(path, state)
    return state !== ''
  }

  get areUnchanged(): boolean {
    for (const [path, state] of this.#states) if (state !== stateOf(path)) return false
    return true
  }

  /** Throws the reason if an earlier value can stay in use; else records it. */
  doubt(reason: string | undefined): void {
    if (reason === undefined) return
    if (!this.#isFirst) throw new Error(reason)
    this.doubted ??= reason
  }
}

/** Called with a problem of files, and with undefined once it is solved. */
export type FilesTrouble = (reason: string | undefined) => void

/**
 * A value made from files, and made again at the next use after one of them has changed. Which files these are may depend on their
 * contents. While they cannot be used, as when they are half written, the last value stays in use, and every use rereads them.
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

  /** Makes the next use reread the files even if they seem unchanged. */
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

/** Identifies the version of a file, through symbolic links as in a mounted Secret. Empty if it does not exist. */
function stateOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
  } catch {
    return ''
  }
}
