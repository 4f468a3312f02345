import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { claimedSender } from '../../src/model/otlp/request-envelopes.ts'

function requestFrom(...resources: Record<string, unknown>[]): Uint8Array {
  const resourceSpans = resources.map((attributes) => ({
    resource: {
      attributes: Object.entries(attributes).map(([key, value]) => ({
        key,
        value: typeof value === 'string' ? { stringValue: value } : { intValue: '7' },
      })),
    },
  }))
  return protobufOfJson('traces', Buffer.from(JSON.stringify({ resourceSpans })))
}

test('names service and cluster of the first resource', () => {
  const request = requestFrom(
    { 'host.name': 'a', 'service.name': 'scheduler', 'k8s.cluster.name': 'prod' },
    { 'service.name': 'kubelet' },
  )
  expect(claimedSender(request)).toEqual({ service: 'scheduler', cluster: 'prod' })
})

test('what a request does not say, or not as text, is empty', () => {
  expect(claimedSender(requestFrom({ 'service.name': 7 }))).toEqual({ service: '', cluster: '' })
  expect(claimedSender(requestFrom({}))).toEqual({ service: '', cluster: '' })
  expect(claimedSender(new Uint8Array())).toEqual({ service: '', cluster: '' })
})

test('bytes that are no request name nobody and throw nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const { service, cluster } = claimedSender(bytes)
      expect(typeof service + typeof cluster).toBe('stringstring')
    }),
  )
})
