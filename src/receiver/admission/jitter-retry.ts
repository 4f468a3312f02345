import type { IngestOutcome } from '../../model/ingest.ts'

/**
 * Makes those who are refused at the same time come again at different times: up to twice as late. `chance` is from 0 to 1.
 * What the port itself says of the delay stays.
 */
export function jitterRetry<Outcome extends IngestOutcome>(outcome: Outcome, chance: number): Outcome {
  if (outcome.kind !== 'busy' || outcome.cause === undefined) return outcome
  return { ...outcome, retryAfterMs: Math.round(outcome.retryAfterMs * (1 + chance)) }
}
