import { expect, test } from '@jest/globals'
import { outgoingLog } from '../../src/exporter/drain.ts'
import { decodeLogs, decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { encodeAttribute } from '../../src/model/otlp/encode-telemetry.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import {
  ADDED_ATTRIBUTES,
  ADDED_BYTES,
  CAUSE_BYTES,
  fieldHeader,
  outgoingSpan,
} from '../../src/model/otlp/outgoing-records.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../../src/model/outbox.ts'
import { cpid, hexSpan, hexTrace } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const idOf = (hex: string): Buffer => Buffer.from(hex, 'hex')
const field = (number: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([fieldHeader(number, bytes.length), bytes])

const TRACE_ID = 1
const SPAN_ID = 2
const PARENT_ID = 4
const ATTRIBUTE = 9
const LOG_TRACE_ID = 9
const LOG_ATTRIBUTE = 6

/** A request of one record made of these fields. */
const requestOf = (...fields: Buffer[]): Buffer => field(1, field(2, field(2, Buffer.concat(fields))))

const early = field(TRACE_ID, idOf(hexTrace(1)))
const late = field(TRACE_ID, idOf(hexTrace(2)))
const spanId = field(SPAN_ID, idOf(hexSpan(11)))

const carries = (key: string, value: string): Buffer => field(ATTRIBUTE, encodeAttribute(key, value))

const LATE: [what: string, request: Buffer][] = [
  ['after another one', requestOf(early, spanId, carries('cpid.id', cpid(1)), late)],
  ['after a bad one', requestOf(field(TRACE_ID, idOf('aa')), spanId, carries('cpid.id', cpid(1)), late)],
  ['after everything else', requestOf(spanId, carries('cpid.id', cpid(1)), late)],
  [
    'twice in JSON',
    Buffer.from(
      protobufOfJson(
        'traces',
        Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${hexTrace(1)}","spanId":"${hexSpan(11)}",
          "attributes":[{"key":"cpid.id","value":{"stringValue":"${cpid(1)}"}}],"traceId":"${hexTrace(2)}"}]}]}]}`),
      ),
    ),
  ],
]

test.each(LATE)("a trace id that comes %s is the span's, wherever the span goes", async (_, request) => {
  for (const mode of ['cascade', 'passthrough'] as const) {
    using writer = await TestWriter.open({ linking: { mode } })
    expect(writer.ingest('traces', request)).toMatchObject({ kind: 'accepted', rejected: 0, stored: 1 })
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    expect(writer.db.prepare('SELECT trace_id FROM audit_spans').pluck().all()).toEqual([hexTrace(2)])
    writer.pass(0)
    const sent = writer.sent().filter((span) => span.spanId === hexSpan(11))
    expect(sent.map(({ traceId }) => traceId)).toEqual([mode === 'cascade' ? traceOf(cpid(1)) : hexTrace(2)])
    if (mode === 'cascade')
      expect(sent[0]?.attributes).toMatchObject({ 'cpid.original_trace_id': hexTrace(2) })
  }
})

test('a bad or empty id after a good one counts as well', () => {
  const bad = requestOf(early, spanId, field(TRACE_ID, idOf('aa')))
  expect(decodeTraces(bad)).toMatchObject({ rejected: 1, reasons: ['a span whose trace_id is not 16 bytes'] })
  const parentless = requestOf(early, spanId, field(PARENT_ID, idOf(hexSpan(5))), field(PARENT_ID, idOf('')))
  expect(decodeTraces(parentless).resources[0]?.scopes[0]?.records[0]).toMatchObject({ parentId: 0n })
  const log = requestOf(field(LOG_TRACE_ID, idOf(hexTrace(1))), field(LOG_TRACE_ID, idOf('aa')))
  expect(decodeLogs(log).resources[0]?.scopes[0]?.records[0]).toMatchObject({ traceKey: '' })
})

test('the code of a status that comes in parts is kept', () => {
  const parts = requestOf(
    early,
    spanId,
    field(15, Buffer.from([0x18, 2])),
    field(15, Buffer.from([0x12, 1, 65])),
  )
  expect(decodeTraces(parts).resources[0]?.scopes[0]?.records[0]).toMatchObject({ status: 2 })
})

/** The keys of a record's attributes with their values, in order. */
function attributesOf(message: 'Span' | 'LogRecord', bytes: Buffer | undefined): [string, unknown][] {
  const json = jsonOfProtobuf(message, bytes ?? Buffer.alloc(0))
  const attributes = (json['attributes'] ?? []) as { key: string; value: Record<string, unknown> }[]
  return attributes.map(({ key, value }) => [key, Object.values(value)[0]])
}

/** The decision about a span to which all is added that can be added to one. */
const item: OutboxItem = {
  decision: 1,
  raw: Buffer.concat([late, spanId]),
  synthetic: false,
  scope: 1,
  traceId: idOf(hexTrace(7)),
  parentId: 5n,
  copy: true,
  inherited: undefined,
  extra: Buffer.from(JSON.stringify({ roots: [cpid(1)] })),
}

test('what one Causeway said of a span the next one does not say again', () => {
  const first = outgoingSpan({ ...item, inherited: 'x' as OutboxItem['inherited'] })
  const second = outgoingSpan({ ...item, raw: first, traceId: idOf(hexTrace(8)) })
  expect(attributesOf('Span', second)).toEqual(attributesOf('Span', first))
  expect(attributesOf('Span', second)[0]).toEqual(['cpid.original_trace_id', hexTrace(2)])
  expect(jsonOfProtobuf('Span', second ?? Buffer.alloc(0))).toMatchObject({ traceId: hexTrace(8) })
})

test('all that is added to a span is listed, and no larger than what is counted for it', () => {
  const cause = { traceId: hexTrace(3), spanId: hexSpan(12) }
  const inherited = cpid(1) as OutboxItem['inherited']
  const sent = outgoingSpan({ ...item, inherited, extra: Buffer.from(JSON.stringify({ cause })) })
  const withRoots = outgoingSpan({ ...item, inherited })
  const added = [...attributesOf('Span', sent), ...attributesOf('Span', withRoots)].map(([key]) => key)
  expect(new Set(added)).toEqual(ADDED_ATTRIBUTES)
  expect((sent?.length ?? 0) - (item.raw?.length ?? 0)).toBeLessThanOrEqual(ADDED_BYTES + CAUSE_BYTES)
})

test('what one Causeway said of a log record the next one does not say again', () => {
  const item = { decision: 1, scope: 1, withoutSpanId: false, inherited: undefined }
  const raw = field(LOG_TRACE_ID, idOf(hexTrace(2)))
  const first = outgoingLog({ ...item, raw, traceId: idOf(hexTrace(7)) })
  const second = outgoingLog({ ...item, raw: first, traceId: idOf(hexTrace(8)) })
  expect(attributesOf('LogRecord', second)).toEqual([['cpid.original_trace_id', hexTrace(2)]])
  expect(jsonOfProtobuf('LogRecord', second ?? Buffer.alloc(0))).toMatchObject({ traceId: hexTrace(8) })
  const own = Buffer.concat([raw, field(LOG_ATTRIBUTE, encodeAttribute('other', 'x'))])
  expect(
    attributesOf('LogRecord', outgoingLog({ ...item, raw: own, traceId: idOf(hexTrace(7)) })),
  ).toHaveLength(2)
})
