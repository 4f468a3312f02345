import { expect, test } from '@jest/globals'
import { encodeExportResponse } from '../../src/model/otlp/responses.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

test.each(['traces', 'logs'] as const)('full success for %s leaves partial_success unset', (signal) => {
  const success = { rejected: 0, message: '' }
  expect(hex(encodeExportResponse(signal, 'protobuf', success))).toBe('')
  expect(text(encodeExportResponse(signal, 'json', success))).toBe('{}')
})

test('partial success says how many were rejected and why', () => {
  const partial = { rejected: 2, message: 'no' }
  expect(hex(encodeExportResponse('traces', 'protobuf', partial))).toBe('0a06' + '0802' + '12026e6f')
  expect(text(encodeExportResponse('traces', 'json', partial))).toBe(
    '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}',
  )
  expect(text(encodeExportResponse('logs', 'json', partial))).toBe(
    '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"no"}}',
  )
})

test('a warning rejects none', () => {
  const warning = { rejected: 0, message: 'no' }
  expect(hex(encodeExportResponse('logs', 'protobuf', warning))).toBe('0a04' + '12026e6f')
  expect(text(encodeExportResponse('logs', 'json', warning))).toBe(
    '{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"no"}}',
  )
})

test('a long message is cut so that the response stays small', () => {
  const long = { rejected: 1, message: '\u{1f9ed}'.repeat(1_000_000) }
  expect(encodeExportResponse('traces', 'protobuf', long).length).toBeLessThan(4096)
  const json = text(encodeExportResponse('traces', 'json', long))
  expect(json.length).toBeLessThan(4096)
  expect(json).toContain('…')
  expect(json.isWellFormed()).toBe(true)
})
