const LONGEST = 1000

/** Cuts a text that came from a backend to what a log line or a stored reason can bear. */
export function shorten(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}
