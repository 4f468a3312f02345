/** What could be read of a table of a damaged database. */
export interface SalvagedTable {
  readonly table: string
  readonly rows: number
  /** Stretches that could not be read, in words; rows that did not fit count as well. */
  readonly lost: readonly string[]
}

/** What was taken out or set right, and how many rows that were. */
export interface Mended {
  readonly what: string
  readonly rows: number
}

/** What a damaged database came to. */
export interface Salvaged {
  readonly isHeaderNew: boolean
  readonly tables: readonly SalvagedTable[]
  readonly mended: readonly Mended[]
}
