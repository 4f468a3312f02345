import type { Mistake } from '../config-error.ts'

/** What is wrong with the settings being read. */
export class Mistakes {
  readonly found: Mistake[] = []
  #isFaulty = false

  /** Nothing can be built from settings with a mistake, nor with one that is reported elsewhere. */
  get isFaulty(): boolean {
    return this.#isFaulty
  }

  /** Returns what stands for the value from here on. */
  add(path: readonly string[], message: string): never {
    this.found.push({ path: path.join('::'), message })
    return this.silently()
  }

  /** Something is wrong that is already reported. */
  silently(): never {
    this.#isFaulty = true
    return FAULTY
  }
}

/** Thrown where a rule looks at a faulty value: nothing can be said of it then. */
export class FaultyValue extends Error {}

/** Stands for a value that cannot be used. */
export const FAULTY = new FaultyValue() as never
