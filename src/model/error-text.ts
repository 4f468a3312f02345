/** What an error says. Node gives a name whose addresses all refused an error without words, around the others. */
export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.map(errorText).join(', ')
  return 'message' in error && typeof error.message === 'string' ? error.message : 'unknown error'
}
