import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { hexTrace, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

const PATH = '/tempo/api/v2/traces/diff'
const MIB = 1024 * 1024

/** Traces, each of which is compared with itself. */
const [DEEP, LONG, LARGE] = [1, 2, 3]
const TRACES: readonly (readonly [trace: number, spans: Omit<SpanSketch, 'trace'>[]])[] = [
  [DEEP, numbers(1_500).map((id) => ({ id, ...(id > 1 && { parent: id - 1 }) }))],
  [LONG, longName(1_000)],
  [LARGE, numbers(9).map((id) => ({ id, attributes: { text: 'x'.repeat(MIB) } }))],
]

function numbers(most: number): number[] {
  return Array.from({ length: most }, (_, at) => at + 1)
}

function longName(children: number): Omit<SpanSketch, 'trace'>[] {
  const below = numbers(children).map((id) => ({ id: id + 1, parent: 1, name: `child ${id}` }))
  return [{ id: 1, name: 'x'.repeat(3 * MIB) }, ...below]
}

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await TestWriter.open({}, path)
    for (const [trace, spans] of TRACES)
      writer.spans(
        'shop',
        spans.map((span) => ({ ...span, trace })),
      )
    writer.pass(1_000_000)
    return writer
  })
})
afterAll(() => api[Symbol.asyncDispose]())

interface Posted {
  readonly status: number
  readonly etag: string | null
  readonly body: string
}

async function diff(trace: number, headers?: Record<string, string>): Promise<Posted> {
  const side = { traceId: hexTrace(trace) }
  return await post(JSON.stringify({ base: side, compare: side }), headers)
}

async function post(body: string | ReadableStream, headers: Record<string, string> = {}): Promise<Posted> {
  const init = { method: 'POST', body, headers: { ...headers, connection: 'close' }, duplex: 'half' as const }
  const response = await fetch(api.url + PATH, init)
  return { status: response.status, etag: response.headers.get('etag'), body: await response.text() }
}

test('traces with too many bytes, and spans nested too deep, are refused', async () => {
  const isTooLarge = `these traces are too large to compare: both traces together may have at most 20000 spans and ${16 * MIB} bytes; look at each by itself`
  expect(await diff(LARGE)).toMatchObject({ status: 400, body: isTooLarge })
  expect(await diff(DEEP)).toMatchObject({ status: 400, body: expect.stringContaining('nested too deep') })
})

test('a long name above many spans takes memory once', async () => {
  const { status, body } = await diff(LONG)
  expect([status, JSON.parse(body)]).toMatchObject([200, { stats: { matchedSpans: 1_001 } }])
  expect(api.troubles).toEqual([])
})

test('a body that is too long is refused, whether its length is said before or not', async () => {
  const long = ' '.repeat(16_385)
  const refused = { status: 413, body: 'the body may have at most 16384 bytes' }
  expect(await post(long)).toMatchObject(refused)
  expect(await post(new Blob([long]).stream())).toMatchObject(refused)
})

test('a connection goes on after a body of unknown length that was too long', async () => {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  const chunk = `4000\r\n${' '.repeat(16_384)}\r\n`
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`)
  for (let chunks = 0; chunks < 4; chunks++) socket.write(chunk)
  socket.write('0\r\n\r\nGET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  expect((await text(socket)).match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
})

test('a POST is answered whatever answer is known already', async () => {
  const { etag } = await diff(LONG)
  expect(await diff(LONG, { 'if-none-match': etag ?? '' })).toMatchObject({ status: 200 })
})
