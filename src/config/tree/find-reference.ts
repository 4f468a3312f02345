export interface Reference {
  start: number
  end: number
  /** What stands between `${` and `}`. */
  uri: string
}

/** The first innermost `${…}` of a text. One whose `$` is itself escaped (`$${…}`) is plain text. */
export function findReference(text: string): Reference | undefined {
  for (let close = text.indexOf('}'); close >= 0; close = text.indexOf('}', close + 1)) {
    const open = text.lastIndexOf('${', close)
    const closedBefore = text.lastIndexOf('}', close - 1)
    if (open > closedBefore && countDollarsBefore(text, open) % 2 === 0) {
      return { start: open, end: close + 1, uri: text.slice(open + 2, close) }
    }
  }
  return undefined
}

/** The text with every `$$` written as the one `$` it means. */
export function unescapeDollars(text: string): string {
  return text.replaceAll('$$', () => '$')
}

function countDollarsBefore(text: string, index: number): number {
  let first = index
  while (text[first - 1] === '$') first--
  return index - first
}
