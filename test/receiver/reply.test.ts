import { expect, test } from '@jest/globals'
import { ANSWER_STATUSES, retryAfterSeconds, rpcStatusOf } from '../../src/receiver/answer-statuses.ts'

const OK = 0
const INVALID_ARGUMENT = 3
const RESOURCE_EXHAUSTED = 8
const UNIMPLEMENTED = 12
const UNAVAILABLE = 14

test('each outcome has one answer on gRPC and one on HTTP', () => {
  expect(ANSWER_STATUSES).toEqual({
    accepted: { grpc: OK, http: 200, retryable: false },
    malformed: { grpc: INVALID_ARGUMENT, http: 400, retryable: false },
    tooLarge: { grpc: RESOURCE_EXHAUSTED, http: 413, retryable: false },
    busy: { grpc: UNAVAILABLE, http: 503, retryable: true },
    failed: { grpc: UNAVAILABLE, http: 503, retryable: true },
    wrongPath: { grpc: UNIMPLEMENTED, http: 404, retryable: false },
    unknownCoding: { grpc: UNIMPLEMENTED, http: 400, retryable: false },
    headersTooLarge: { grpc: RESOURCE_EXHAUSTED, http: 431, retryable: false },
    tooSlow: { grpc: 4, http: 503, retryable: true },
    tooManyConnections: { grpc: RESOURCE_EXHAUSTED, http: 503, retryable: true },
    foreignPage: { grpc: 7, http: 403, retryable: false },
    unauthenticated: { grpc: 16, http: 401, retryable: false },
    wrongMethod: { grpc: UNIMPLEMENTED, http: 405, retryable: false },
    wrongType: { grpc: INVALID_ARGUMENT, http: 415, retryable: false },
  })
})

test('senders retry exactly what the table calls retryable', () => {
  const retriedOnHttp = [429, 502, 503, 504]
  // CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS
  const retriedOnGrpc = [1, 4, 10, 11, 14, 15]
  for (const [kind, { grpc, http, retryable }] of Object.entries(ANSWER_STATUSES)) {
    expect(retriedOnHttp.includes(http)).toBe(retryable)
    // RESOURCE_EXHAUSTED is retried where RetryInfo comes with it.
    expect(retriedOnGrpc.includes(grpc) || kind === 'tooManyConnections').toBe(retryable)
  }
})

test('only a busy receiver names a delay, or RESOURCE_EXHAUSTED would be retried', () => {
  const reason = 'r'
  expect(rpcStatusOf({ kind: 'busy', retryAfterMs: 250, reason })).toEqual({
    code: UNAVAILABLE,
    message: 'r',
    retryAfterMs: 250,
  })
  for (const kind of ['malformed', 'tooLarge', 'failed'] as const) {
    expect(rpcStatusOf({ kind, reason })).not.toHaveProperty('retryAfterMs')
    expect(retryAfterSeconds({ kind, reason })).toBeUndefined()
  }
})

test.each([
  [0, 1],
  [1, 1],
  [1000, 1],
  [1001, 2],
  [60_000, 60],
])('a delay of %i ms is Retry-After: %i', (retryAfterMs, seconds) => {
  expect(retryAfterSeconds({ kind: 'busy', retryAfterMs, reason: '' })).toBe(seconds)
})
