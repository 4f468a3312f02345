import type { Mistake } from './config-error.ts'

/** What reading a configuration has found so far; every step adds to it and none stops at the first mistake. */
export class Findings {
  readonly mistakes: Mistake[] = []
  readonly warnings: string[] = []

  mistake(path: string, message: string): void {
    this.mistakes.push({ path, message })
  }

  warn(path: string, message: string): void {
    this.warnings.push(`${path}: ${message}`)
  }
}
