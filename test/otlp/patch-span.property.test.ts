import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { encodeAttribute } from '../../src/model/otlp/encode-telemetry.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { patchSpan } from '../../src/model/otlp/outgoing-records.ts'
import { type JsonObject, jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { anOtlpMessage } from './otlp-arbitraries.ts'

const id = (bytes: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .filter((drawn) => drawn.some((byte) => byte !== 0))
    .map((drawn) => Buffer.from(drawn).toString('hex'))

const span = fc
  .record({
    base: anOtlpMessage('Span', 4),
    traceId: id(16),
    spanId: id(8),
    parentSpanId: fc.option(id(8), { nil: '' }),
  })
  .map(({ base, ...ids }): JsonObject => ({ ...base, ...ids }))

function bytesOf(json: JsonObject): Buffer {
  const request = { resourceSpans: [{ scopeSpans: [{ spans: [json] }] }] }
  const decoded = decodeTraces(Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request)))))
  const raw = decoded.resources[0]?.scopes[0]?.records[0]?.raw
  if (raw === undefined) throw new Error(`the span was refused: ${decoded.reasons.join()}`)
  return raw
}

test('a patched span has the new ids and attributes, and everything else as it was', () => {
  fc.assert(
    fc.property(span, id(16), fc.option(id(8), { nil: undefined }), (json, traceId, parent) => {
      const raw = bytesOf(json)
      const patched = patchSpan(raw, {
        traceId: Buffer.from(traceId, 'hex'),
        parentId: parent === undefined ? 0n : Buffer.from(parent, 'hex').readBigInt64BE(0),
        attributes: [encodeAttribute('cpid.copy', true)],
      })
      const before = jsonOfProtobuf('Span', raw)
      delete before['parentSpanId']
      const after = jsonOfProtobuf('Span', patched)
      expect(after).toEqual({
        ...before,
        traceId,
        ...(parent !== undefined && { parentSpanId: parent }),
        attributes: [
          ...((before['attributes'] ?? []) as JsonObject[]),
          { key: 'cpid.copy', value: { boolValue: true } },
        ],
      })
    }),
  )
})

test('patching nothing but the ids to what they were gives the same span', () => {
  fc.assert(
    fc.property(span, (json) => {
      const raw = bytesOf(json)
      const decoded = jsonOfProtobuf('Span', raw) as { traceId: string; parentSpanId?: string }
      const patched = patchSpan(raw, {
        traceId: Buffer.from(decoded.traceId, 'hex'),
        parentId: Buffer.from((decoded.parentSpanId ?? '').padStart(16, '0'), 'hex').readBigInt64BE(0),
        attributes: [],
      })
      expect(patched.equals(raw)).toBe(true)
    }),
  )
})
