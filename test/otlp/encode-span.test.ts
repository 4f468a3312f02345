import { expect, test } from '@jest/globals'
import { encodeSpan } from '../../src/model/otlp/encode-telemetry.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'

const traceId = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
/** Sizes around which a length takes another byte. */
const TEXTS = [0, 1, 100, 127, 128, 129, 16_383, 16_384, 20_000].map((length) => 'x'.repeat(length))

test.each(TEXTS)('a span is written whole, whatever the length of what stands in it', (text) => {
  const values = { text, yes: true, number: -3n, list: [text, 'ü', text] }
  const attributes = [
    { key: 'text', value: { stringValue: text } },
    { key: 'yes', value: { boolValue: true } },
    { key: 'number', value: { intValue: '-3' } },
    {
      key: 'list',
      value: { arrayValue: { values: [text, 'ü', text].map((one) => ({ stringValue: one })) } },
    },
  ]
  const bytes = encodeSpan({
    ...{ traceId, spanId: -1n, parentId: 1n, name: text, startNs: 5n, endNs: 6n, attributes: values },
    links: [
      { traceId, spanId: 2n },
      ...Array.from({ length: 130 }, () => ({ traceId, spanId: 3n, attributes: values })),
    ],
    events: [
      { name: 'one', timeNs: 7n, attributes: values },
      { name: 'other', timeNs: 8n, attributes: {} },
    ],
  })
  const hex = traceId.toString('hex')
  const link = { traceId: hex, spanId: '0000000000000003', attributes }
  expect(jsonOfProtobuf('Span', bytes)).toEqual({
    ...{ traceId: hex, spanId: 'ffffffffffffffff', parentSpanId: '0000000000000001' },
    ...{ name: text, kind: 1, startTimeUnixNano: '5', endTimeUnixNano: '6', attributes },
    links: [{ traceId: hex, spanId: '0000000000000002' }, ...Array.from({ length: 127 }, () => link)],
    droppedLinksCount: 3,
    events: [
      { timeUnixNano: '7', name: 'one', attributes },
      { timeUnixNano: '8', name: 'other' },
    ],
  })
})
