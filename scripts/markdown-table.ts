/** A table of Markdown without padding, for pages that programs write. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
