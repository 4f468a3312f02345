import { ownValue } from '../../model/own-value.ts'
import type { Skipped } from '../../model/kubernetes/observation.ts'
import type { ToldLine } from './told-in-order.ts'

const MAX_FAULTS = 5

/** What came of an import. */
export interface Imported {
  /** Lines that were read now. */
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
}

/** Counts the lines of recordings. */
export class ImportCounts implements Imported {
  readonly known: number
  readonly skipped: Partial<Record<Skipped, number>> = {}
  readonly faults: string[] = []
  lines = 0
  told = 0
  faulty = 0

  constructor(known: number) {
    this.known = known
  }

  add({ told, place, path }: ToldLine): void {
    this.lines++
    if (typeof told === 'string') this.skipped[told] = (ownValue(this.skipped, told) ?? 0) + 1
    else if (!('fault' in told)) this.told++
    else {
      this.faulty++
      if (this.faults.length < MAX_FAULTS) this.faults.push(`${path}, line ${place.lines} ${told.fault}`)
    }
  }
}
