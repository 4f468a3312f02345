/** What a thrown value says. */
export function errorText(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return typeof message === 'string' ? message : 'unknown error'
}
