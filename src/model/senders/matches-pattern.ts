/** Whether a text fits a pattern, in which a `*` stands for any characters. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= end
}

export const matchesOnePattern = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, text))
