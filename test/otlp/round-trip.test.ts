import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { EXPORT_REQUEST } from '../../src/model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { anOtlpMessage } from './otlp-arbitraries.ts'

test.each(['traces', 'logs'] as const)('JSON of %s survives the way to protobuf and back', (signal) => {
  fc.assert(
    fc.property(anOtlpMessage(EXPORT_REQUEST[signal]), (request) => {
      const protobuf = protobufOfJson(signal, Buffer.from(JSON.stringify(request)))
      expect(jsonOfProtobuf(EXPORT_REQUEST[signal], protobuf)).toEqual(request)
    }),
  )
})

test('the layout of the JSON text does not matter', () => {
  fc.assert(
    fc.property(
      anOtlpMessage('ExportTraceServiceRequest'),
      fc.constantFrom(1, '\t', ' \n'),
      (request, space) => {
        const spaced = Buffer.from(`\r\n${JSON.stringify(request, undefined, space)} `)
        const dense = Buffer.from(JSON.stringify(request))
        expect(protobufOfJson('traces', spaced)).toEqual(protobufOfJson('traces', dense))
      },
    ),
  )
})

test('bytes that are not OTLP either decode or are called malformed, and never crash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        jsonOfProtobuf('ExportTraceServiceRequest', bytes)
      } catch (error) {
        expect(error).toHaveProperty('name', 'MalformedOtlp')
      }
    }),
  )
})
