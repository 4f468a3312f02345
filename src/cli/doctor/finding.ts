export type FindingState = 'ok' | 'warn' | 'fail'

/** What one look came to. */
export interface Finding {
  readonly state: FindingState
  /** What was looked at, in two words. */
  readonly check: string
  readonly message: string
  /** What to do; there whenever something is not well. */
  readonly advice?: string
}

export const ok = (check: string, message: string): Finding => ({ state: 'ok', check, message })

export const warn = (check: string, message: string, advice: string): Finding => ({
  state: 'warn',
  check,
  message,
  advice,
})

export const fail = (check: string, message: string, advice: string): Finding => ({
  state: 'fail',
  check,
  message,
  advice,
})
