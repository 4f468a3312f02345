import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { IngestOutcome } from '../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { BYTES_AN_ITEM, FREE_ITEMS, MalformedOtlp } from '../../src/model/otlp/protobuf-wire.ts'
import { type HostileRequest, hostileRequests } from '../support/hostile/hostile-requests.ts'
import { logsRequest, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { WorkCounter } from '../support/work-counter.ts'

const SIZE = 256 * 1024
/**
 * How many functions and blocks of ours a byte of a request may make run: some twice what the most laborious take, of which
 * each pair of bytes is a field. Ordinary spans take 1 and 6, and SQLite takes most of their time.
 */
const BLOCKS_A_BYTE = { protobuf: 24, json: 48 }
/** How many rows an item may write: a span's own, its place, its outcome and what it was found by. */
const ROWS_AN_ITEM = 4
const DRAWN = 20

const ALL = (['traces', 'logs', 'metrics'] as const).flatMap((signal) =>
  (['protobuf', 'json'] as const).flatMap((encoding) => hostileRequests(signal, encoding)),
)
/** What once cost most. */
const KNOWN = [
  'traces protobuf empty .resourceSpans',
  'traces protobuf empty .resourceSpans.scopeSpans',
  'traces protobuf smallest .resourceSpans.scopeSpans.spans.events',
  'traces protobuf empty .resourceSpans.scopeSpans.spans.links',
  'traces protobuf empty .resourceSpans.scopeSpans.spans.attributes[cpid.wrote].value.arrayValue.values',
  'traces json empty .resourceSpans',
  'traces json empty .resourceSpans.scopeSpans.spans.attributes',
  'logs protobuf empty .resourceLogs.scopeLogs.logRecords',
  'logs protobuf smallest .resourceLogs.scopeLogs',
  'logs json empty .resourceLogs.scopeLogs.logRecords',
  'metrics protobuf empty .resourceMetrics.scopeMetrics.metrics.gauge.dataPoints',
  'metrics protobuf smallest .resourceMetrics.scopeMetrics.metrics.gauge.dataPoints',
  'metrics protobuf empty .resourceMetrics.scopeMetrics.metrics',
  'metrics json empty .resourceMetrics.scopeMetrics.metrics.sum.dataPoints',
].map((name) => ALL.find((request) => request.name === name) ?? fail(name))

function fail(name: string): never {
  throw new Error(`there is no ${name}`)
}

type Sent = Pick<HostileRequest, 'signal' | 'encoding'>

function send(writer: TestWriter, { signal, encoding }: Sent, body: Buffer): IngestOutcome {
  try {
    const bytes = encoding === 'json' ? Buffer.from(protobufOfJson(signal, body)) : body
    return writer.ingest(signal, bytes)
  } catch (error) {
    if (error instanceof MalformedOtlp) return { kind: 'malformed', reason: error.message }
    throw error
  }
}

interface Cost {
  readonly outcome: IngestOutcome | undefined
  readonly blocks: number
  /** Rows that were inserted, updated and deleted. */
  readonly rows: number
}

function costOf(writer: TestWriter, counter: WorkCounter, sent: Sent, body: Buffer): Cost {
  let outcome: IngestOutcome | undefined
  const rowsBefore = writer.rowsWritten
  const blocks = counter.blocksOf(() => {
    outcome = send(writer, sent, body)
    writer.pass(11_000)
  })
  return { outcome, blocks, rows: writer.rowsWritten - rowsBefore }
}

test('whatever a request has too much of, its size bounds what is done for it', async () => {
  using writer = await TestWriter.open()
  using counter = new WorkCounter()
  const items = FREE_ITEMS + SIZE / BYTES_AN_ITEM
  const examples = KNOWN.map((request): [HostileRequest] => [request])
  fc.assert(
    fc.property(fc.constantFrom(...ALL), (request) => {
      const { encoding } = request
      const { outcome, blocks, rows } = costOf(writer, counter, request, request.bytes(SIZE))
      expect(['accepted', 'malformed']).toContain(outcome?.kind)
      expect(blocks).toBeLessThan(SIZE * BLOCKS_A_BYTE[encoding])
      expect(rows).toBeLessThan(items * ROWS_AN_ITEM)
    }),
    { numRuns: KNOWN.length + DRAWN, examples, endOnFailure: true },
  )
})

test.each(['traces', 'logs', 'metrics'] as const)(
  '%s with more items than their bytes allow are refused with their number and what to do',
  async (signal) => {
    using writer = await TestWriter.open()
    const bytes = Buffer.alloc(2 * 100_000, Buffer.from('0a00', 'hex'))
    const most = FREE_ITEMS + Math.floor(bytes.length / BYTES_AN_ITEM)
    const outcome = writer.ingest(signal, bytes)
    expect(outcome).toMatchObject({ kind: 'malformed' })
    const { reason } = outcome as { reason: string }
    expect(reason).toContain(`at most ${most} items`)
    expect(reason).toContain(`${most + 1} resources`)
    expect(reason).toContain('send fewer items in a request')
  },
)

test('a batch of very many small spans, or log records, is taken whole', async () => {
  using writer = await TestWriter.open()
  const many = Array.from({ length: 20_000 }, (_, at) => at + 1)
  const spans = spansRequest(
    'small',
    many.map((id) => ({ trace: 1, id })),
  )
  expect(writer.ingest('traces', spans)).toMatchObject({ kind: 'accepted', stored: many.length, rejected: 0 })
  const logs = logsRequest(
    'small',
    many.map(() => ({ body: 'the object was written once more' })),
  )
  expect(writer.ingest('logs', logs)).toMatchObject({ kind: 'accepted', stored: many.length, rejected: 0 })
})
