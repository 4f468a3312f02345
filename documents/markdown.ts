/** A table; the first row is its heading. Columns other than the first are to the right where `numbers` says so. */
export function table(rows: readonly (readonly string[])[], numbers = false): string {
  const [heading = [], ...body] = rows
  const rule = heading.map((_, column) => (numbers && column > 0 ? '--:' : '---'))
  return [heading, rule, ...body].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** With so many digits after the point, thousands apart. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function picture(alt: string, path: string): string {
  return `![${alt}](${path})`
}
