import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START_MS = Date.UTC(2026, 0, 1)

/** A time of a test, as inference counts it. */
export const at = (ms: number): bigint => BigInt(START_MS + ms) * 1_000_000n

/** The same as an API server writes it. */
export const timeAt = (ms: number): string => new Date(START_MS + ms).toISOString()

/** An observation that was read; throws why it was skipped. */
export function known(read: Observation | string): Observation {
  if (typeof read === 'string') throw new Error(read)
  return read
}
