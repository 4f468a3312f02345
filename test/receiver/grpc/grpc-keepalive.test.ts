import { expect, test } from '@jest/globals'
import { keepaliveOptions } from '../../../src/receiver/otlp/grpc-server.ts'

const NEVER = {
  maxConnectionIdleMs: 0,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  timeMs: 0,
  timeoutMs: 20_000,
}

test('each time has its option, in milliseconds', () => {
  expect(
    keepaliveOptions({
      maxConnectionIdleMs: 1,
      maxConnectionAgeMs: 2,
      maxConnectionAgeGraceMs: 3,
      timeMs: 4,
      timeoutMs: 5,
    }),
  ).toEqual({
    'grpc.max_connection_idle_ms': 1,
    'grpc.max_connection_age_ms': 2,
    'grpc.max_connection_age_grace_ms': 3,
    'grpc.keepalive_time_ms': 4,
    'grpc.keepalive_timeout_ms': 5,
  })
})

test('what never happens has none, and what is later than a timer goes happens when it goes off', () => {
  expect(keepaliveOptions({ ...NEVER, maxConnectionAgeMs: 2 ** 40 })).toEqual({
    'grpc.max_connection_age_ms': 2 ** 31 - 2,
    'grpc.keepalive_timeout_ms': 20_000,
  })
})
