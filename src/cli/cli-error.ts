/** Exit codes: something was not found or did not work; the command line itself is wrong. */
export const EXIT_FAILED = 1
export const EXIT_USAGE = 2

/** Why a command ends without doing what it was asked: one sentence that ends with what to do. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = EXIT_FAILED) {
    super(message)
    this.name = 'CliError'
    this.exitCode = exitCode
  }
}

/** What an error says, on one line. */
export function messageOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(message).trim()
}
