import { ownValue } from '../../model/own-value.ts'
import type { Skipped } from '../../model/kubernetes/observation.ts'

const MAX_FAULTS = 5

/** What came of an import. */
export interface Imported {
  /** Lines that were imported now, or could not be read. */
  readonly lines: number
  /** Lines that were imported before. */
  readonly known: number
  /** Versions and requests that were told. */
  readonly told: number
  /** Lines that make no write, by why. */
  readonly skipped: Readonly<Partial<Record<Skipped, number>>>
  /** Lines that could not be read. */
  readonly faulty: number
  /** The first of them: where they stand, and what is wrong. */
  readonly faults: readonly string[]
  /** What the person has to know who imported. */
  readonly warnings: readonly string[]
}

/** Counts the lines of recordings. */
export class ImportCounts implements Imported {
  readonly skipped: Partial<Record<Skipped, number>> = {}
  readonly faults: string[] = []
  readonly warnings: string[] = []
  lines = 0
  known = 0
  told = 0
  faulty = 0

  add(skipped: Skipped | undefined): void {
    this.lines++
    if (skipped === undefined) this.told++
    else this.skipped[skipped] = (ownValue(this.skipped, skipped) ?? 0) + 1
  }

  addFault(path: string, line: number, fault: string): void {
    this.lines++
    this.faulty++
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${path}, line ${line} ${fault}`)
  }
}
