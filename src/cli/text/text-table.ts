/** Lines of aligned columns under headings; a heading that begins with a blank aligns its column to the right. */
export function textTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings.map((heading) => heading.trim()), ...rows]
  const widths = headings.map((_, column) =>
    all.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), 0),
  )
  return all.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return headings[column]?.startsWith(' ') === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}
