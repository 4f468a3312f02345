/**
 * Lays out rows that come a page at a time: a column is as wide as the widest cell so far, so that a long list is
 * aligned without being held. The last column is as long as it likes.
 */
export class AlignedRows {
  readonly #widths: number[] = []

  lines(rows: readonly (readonly string[])[]): string {
    for (const row of rows) {
      for (const [at, cell] of row.entries()) this.#widths[at] = Math.max(this.#widths[at] ?? 0, cell.length)
    }
    return rows
      .map((row) => {
        const cells = row.map((cell, at) => (at < row.length - 1 ? cell.padEnd(this.#widths[at] ?? 0) : cell))
        return `${cells.join('  ').trimEnd()}\n`
      })
      .join('')
  }
}
