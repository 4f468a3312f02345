/** Time as the control plane knows it, so that a run can also be of virtual time. */
export interface Clock {
  /** Milliseconds since 1970, with fractions. */
  nowMs(): number
  /** Resolves after so many milliseconds; rejects with the signal's reason when that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
