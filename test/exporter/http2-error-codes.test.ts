import { constants } from 'node:http2'
import { expect, test } from '@jest/globals'
import { goesAway, resetsTheStream, startRawGrpcBackend } from '../../lab/harness/sinks/raw-grpc-backend.ts'
import { sendSplitting } from '../../src/exporter/drain.ts'
import { retrying } from '../../src/exporter/open-transport.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { emptyRequest, going, grpcSettings } from './transport-settings.ts'

const CODES = Array.from({ length: 14 }, (_, code) => code)
const WAYS = [
  ['RST_STREAM', resetsTheStream],
  ['GOAWAY', goesAway],
] as const
const TIMES_ILL = 3
const RETRY = {
  ...{ enabled: true, initialIntervalMs: 100, multiplier: 2, randomizationFactor: 0 },
  ...{ maxIntervalMs: 60_000, maxElapsedMs: 0 },
}

test.each(CODES.flatMap((code) => WAYS.map(([way, behaviour]) => ({ way, code, ill: behaviour(code) }))))(
  'what $way with the code $code kept from the backend arrives whole, once it is well',
  async ({ code, ill }) => {
    await using backend = await startRawGrpcBackend(Array.from({ length: TIMES_ILL }, () => ill))
    const waits: number[] = []
    const dropped: object[] = []
    await using transport = retrying(openGrpcTransport(grpcSettings(backend.port)), RETRY, {
      clock: { monotonicMs: () => 0 },
      sleep: (ms) => {
        waits.push(ms)
        return Promise.resolve()
      },
      random: () => 0.5,
      onRetry: () => undefined,
    })
    const outcome = await sendSplitting(['a', 'b', 'c', 'd'], {
      encode: emptyRequest,
      transport,
      signal: going(),
      onDrop: (drop) => dropped.push(drop),
    })
    expect({ outcome, dropped }).toMatchObject({ outcome: { kind: 'done', delivered: 4 }, dropped: [] })
    expect(backend.requests).toBe(TIMES_ILL + 1)
    // grpc-js itself repeats once, and at once, what a backend says it has not begun with.
    expect(waits).toEqual(code === constants.NGHTTP2_REFUSED_STREAM ? [100] : [100, 200, 400])
  },
)
