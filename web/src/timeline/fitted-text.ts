/** The approximate width of a letter: measuring ten thousand labels takes too long. */
const LETTER_WIDTH = 6.1

/** The text, or as much of its beginning as fits into the width in pixels. */
export function fitted(text: string, width: number): string {
  const letters = Math.floor(width / LETTER_WIDTH)
  if (text.length <= letters) return text
  return letters < 2 ? '' : `${text.slice(0, letters - 1)}…`
}
