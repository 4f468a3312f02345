import { BinaryReader } from '@bufbuild/protobuf/wire'
import { expect, test } from '@jest/globals'
import { encodeRpcStatus } from '../../src/model/otlp/responses.ts'

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

test('a status holds the code and the message', () => {
  const status = { code: 3, message: 'no' }
  expect(Buffer.from(encodeRpcStatus('protobuf', status)).toString('hex')).toBe('0803' + '12026e6f')
  expect(text(encodeRpcStatus('json', status))).toBe('{"code":3,"message":"no"}')
})

test('a delay is a RetryInfo among the details', () => {
  const status = { code: 14, message: '', retryAfterMs: 1500 }
  expect(text(encodeRpcStatus('json', status))).toBe(
    '{"code":14,"message":"","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}',
  )
  const reader = new BinaryReader(encodeRpcStatus('protobuf', status))
  expect([reader.tag(), reader.int32()]).toEqual([[1, 0], 14])
  expect([reader.tag(), reader.string()]).toEqual([[2, 2], ''])
  expect(reader.tag()).toEqual([3, 2])
  const any = new BinaryReader(reader.bytes())
  expect([any.tag(), any.string()]).toEqual([[1, 2], 'type.googleapis.com/google.rpc.RetryInfo'])
  any.tag()
  // RetryInfo{retry_delay: Duration{seconds: 1, nanos: 500000000}}
  expect(Buffer.from(any.bytes()).toString('hex')).toBe('0a08' + '0801' + '1080cab5ee01')
})

test('a long message is cut', () => {
  expect(encodeRpcStatus('json', { code: 3, message: 'x'.repeat(100_000) }).length).toBeLessThan(1200)
})
