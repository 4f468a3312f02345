import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import type { SpanJson } from './otlp-json.ts'

const EVERY_VALUE: OtlpJson<'KeyValue'>[] = [
  { key: 'text', value: { stringValue: 'Ünïcödé\n"quoted"' } },
  { key: 'no text', value: { stringValue: '' } },
  { key: 'largest', value: { intValue: '9223372036854775807' } },
  { key: 'fraction', value: { doubleValue: -0.25 } },
  { key: 'no', value: { boolValue: false } },
  { key: 'bytes', value: { bytesValue: 'AAEC/w==' } },
  {
    key: 'list',
    value: {
      arrayValue: { values: [{ stringValue: 'a' }, { arrayValue: { values: [{ intValue: '1' }] } }] },
    },
  },
  { key: 'map', value: { kvlistValue: { values: [{ key: 'inner', value: { boolValue: true } }] } } },
]

/** Spans with something in every field that OTLP has, in the order and with the defaults that the Collector writes. */
export function everyField(
  traceId: string,
  more: readonly OtlpJson<'KeyValue'>[],
): OtlpJson<'ResourceSpans'> {
  const [parent, child] = ['00f067aa0ba902b7', '00f067aa0ba902b8']
  const span = (spanId: string, own: Partial<SpanJson>): SpanJson => ({
    traceId,
    spanId,
    traceState: 'vendor=value,other=1',
    ...own,
    flags: 257,
    name: `span ${spanId}`,
    kind: 2,
    startTimeUnixNano: '1767225600000000001',
    endTimeUnixNano: '1767225600123456789',
    attributes: [...EVERY_VALUE, ...more],
    droppedAttributesCount: 1,
    events: [
      {
        timeUnixNano: '1767225600000000002',
        name: 'an event',
        attributes: EVERY_VALUE,
        droppedAttributesCount: 2,
      },
    ],
    droppedEventsCount: 3,
    links: [
      {
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: 'b7ad6b7169203331',
        traceState: 'linked=1',
        attributes: EVERY_VALUE,
        droppedAttributesCount: 4,
        flags: 769,
      },
    ],
    droppedLinksCount: 5,
    status: { message: 'it failed', code: 2 },
  })
  return {
    resource: {
      attributes: [{ key: 'service.name', value: { stringValue: 'every-field' } }, ...EVERY_VALUE],
      droppedAttributesCount: 6,
    },
    scopeSpans: [
      {
        scope: { name: 'a scope', version: '1.2.3', attributes: EVERY_VALUE, droppedAttributesCount: 7 },
        spans: [span(parent, {}), span(child, { parentSpanId: parent })],
        schemaUrl: 'https://opentelemetry.io/schemas/1.30.0',
      },
    ],
    schemaUrl: 'https://opentelemetry.io/schemas/1.31.0',
  }
}
