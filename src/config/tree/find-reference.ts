export interface Reference {
  start: number
  end: number
  /** What stands between `${` and `}`. */
  uri: string
}

/**
 * The first innermost `${…}` of a text. One whose `$` is itself escaped (`$${…}`) is plain text. The text is gone through
 * once, whatever it is made of.
 */
export function findReference(text: string): Reference | undefined {
  let open: number | undefined
  let dollars = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '$') {
      dollars++
      continue
    }
    // The last of an even number of dollars is escaped; that of an odd number begins a reference.
    if (character === '{' && dollars > 0) open = dollars % 2 === 1 ? at - 1 : undefined
    if (character === '}') {
      if (open !== undefined) return { start: open, end: at + 1, uri: text.slice(open + 2, at) }
      open = undefined
    }
    dollars = 0
  }
  return undefined
}

/** The text with every `$$` written as the one `$` it means. */
export function unescapeDollars(text: string): string {
  return text.replaceAll('$$', () => '$')
}
