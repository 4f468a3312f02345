import { SPANS_PER_REQUEST } from '../load/span-requests.ts'

const LEVELS = 4
const FEWEST_CASCADES = 100
/** Under the limits of a trace (10,000 spans, 4 MiB), at which it would go on in an episode. */
const SPANS_PER_CASCADE = 5_000

interface RoundSize {
  requests: number
  spans: number
  cascades: number
  cpids: number
}

/** Whole requests, and enough cascades that none of their traces is full. */
export function sizeRound(
  { spans }: { spans: number },
  spansPerRequest: number = SPANS_PER_REQUEST,
): RoundSize {
  const requests = Math.ceil(spans / spansPerRequest)
  const sent = requests * spansPerRequest
  const cascades = Math.max(FEWEST_CASCADES, Math.ceil(sent / SPANS_PER_CASCADE))
  return { requests, spans: sent, cascades, cpids: cascades * LEVELS }
}
