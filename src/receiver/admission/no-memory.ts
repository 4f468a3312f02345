import type { Refusal } from '../otlp/reply.ts'

/** The answer to a request that comes while memory is short. */
export const NO_MEMORY: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'memory',
  reason: 'data refused due to high memory usage; send this request again later',
}
