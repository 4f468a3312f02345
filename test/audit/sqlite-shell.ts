import { execFileSync } from 'node:child_process'

/** Asks in the plain sqlite3 shell. Throws an Error that says so where none is installed. */
export function askShell(path: string, sql: string): unknown[] {
  try {
    const printed = execFileSync('sqlite3', ['-readonly', '-json', path, sql], { encoding: 'utf8' })
    return printed.trim() === '' ? [] : (JSON.parse(printed) as unknown[])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error('no sqlite3 shell is installed; install the package sqlite3 and run this test again', {
        cause: error,
      })
    }
    throw error
  }
}
