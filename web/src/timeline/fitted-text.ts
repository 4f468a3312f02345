/** About how wide a letter of the labels is: measuring every label of ten thousand takes too long. */
const LETTER_WIDTH = 6.1

/** The text, or as much of its beginning as fits into so many pixels. */
export function fitted(text: string, width: number): string {
  const letters = Math.floor(width / LETTER_WIDTH)
  if (text.length <= letters) return text
  return letters < 2 ? '' : `${text.slice(0, letters - 1)}…`
}
