/**
 * A table; the first row is its heading. After the first column so many are to the right, as numbers are; all of them
 * where `numbers` is true.
 */
export function table(rows: readonly (readonly string[])[], numbers: boolean | number = 0): string {
  const [heading = [], ...body] = rows
  const toTheRight = numbers === true ? heading.length : Number(numbers)
  const rule = heading.map((_, column) => (column > 0 && column <= toTheRight ? '--:' : '---'))
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
