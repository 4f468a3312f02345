import { expect, test } from '@jest/globals'
import { SpanRequests } from '../../lab/bench/load/span-requests.ts'
import { decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'

const NOW_MS = 1_790_000_000_123
const CPIDS = ['00000001-0000-4000-8000-000000000000', '00000002-0000-4000-8000-000000000000']
const IDENTITY = { stream: 1, streams: 4, seed: 7 }

function requests(spans: number, encoding: 'protobuf' | 'json'): SpanRequests {
  const cpids = CPIDS.map((cpid) => Buffer.from(cpid))
  return new SpanRequests('scheduler', IDENTITY, cpids, { spans, encoding })
}

/** The spans of request number `at`, as Causeway reads it. */
function spansOf(all: SpanRequests, encoding: 'protobuf' | 'json', at: number) {
  all.fill(at, NOW_MS)
  const bytes = Buffer.from(all.bytes)
  const protobuf = encoding === 'json' ? Buffer.from(protobufOfJson('traces', bytes)) : bytes
  return decodeTraces(protobuf).resources.flatMap(({ scopes }) => scopes.flatMap(({ records }) => records))
}

test.each([
  [512, 'protobuf'],
  [20, 'protobuf'],
  [512, 'json'],
  [20, 'json'],
] as const)('requests of %i spans in %s are read whole, and no span comes twice', (count, encoding) => {
  const all = requests(count, encoding)
  const spans = [0, 1, 2].flatMap((at) => spansOf(all, encoding, at))
  expect(spans).toHaveLength(3 * count)
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(3 * count)
  expect(new Set(spans.map(({ cpid }) => cpid))).toEqual(new Set(CPIDS))
  for (const { startNs, endNs } of spans) {
    expect(endNs - startNs).toBe(3_000_000n)
    expect(endNs - BigInt(NOW_MS) * 1_000_000n).toBeLessThan(20_000_000n)
  }
})

test('every span but the last of its trace has that one as its parent', () => {
  const all = requests(20, 'protobuf')
  const spans = [0, 1].flatMap((at) => spansOf(all, 'protobuf', at))
  const whole = spans.slice(2, -2)
  for (const span of whole) {
    const trace = whole.filter(({ traceKey }) => traceKey === span.traceKey)
    expect(trace).toHaveLength(4)
    const last = trace.at(-1)!
    expect(span.parentId).toBe(span === last ? 0n : last.spanId)
  }
})

test('a request in JSON is the same request in protobuf', () => {
  const [json, protobuf] = [requests(20, 'json'), requests(20, 'protobuf')]
  for (const all of [json, protobuf]) all.fill(9, NOW_MS)
  expect(Buffer.from(protobufOfJson('traces', json.bytes)).equals(protobuf.bytes)).toBe(true)
  expect(() => void JSON.parse(json.bytes.toString())).not.toThrow()
})

test('traces are never cut at another place than the first', () => {
  expect(() => requests(18, 'protobuf')).toThrow('take a multiple of 4')
})
