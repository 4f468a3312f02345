import { SpanRequests } from '../../../lab/bench/load/span-requests.ts'
import type { Encoding } from '../../../src/model/otlp/responses.ts'

const CPIDS = Array.from({ length: 50 }, (_, at) =>
  Buffer.from(`cccccccc-cccc-4ccc-8ccc-${String(at).padStart(12, '0')}`),
)
const SPANS_OF_A_TRACE = 4
const NOW_MS = Date.UTC(2026, 0, 1)

let serial = 0

/** Spans as controllers send them, about so many bytes in one request, none of which was sent before. */
export function ordinaryRequest(size: number, encoding: Encoding): Buffer {
  const of = (spans: number): SpanRequests =>
    new SpanRequests('ordinary', { stream: 0, streams: 1, seed: ++serial }, CPIDS, { spans, encoding })
  const bytesOfTrace = of(SPANS_OF_A_TRACE * 8).bytes.length / 8
  const requests = of(Math.max(1, Math.floor(size / bytesOfTrace)) * SPANS_OF_A_TRACE)
  requests.fill(0, NOW_MS)
  return Buffer.from(requests.bytes)
}
