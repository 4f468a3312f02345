import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decodeLogs, decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { MalformedOtlp } from '../../src/model/otlp/protobuf-wire.ts'
import { cpid, mergelogEvent, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { anOtlpMessage } from './otlp-arbitraries.ts'

const DECODERS = [decodeTraces, decodeLogs]

test('any bytes at all are decoded or refused as malformed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      for (const decode of DECODERS) {
        try {
          decode(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedOtlp)
        }
      }
    }),
    { numRuns: 1_000 },
  )
})

test('a request cut short is malformed, never half taken', () => {
  const request = spansRequest('kubectl', [{ trace: 1, id: 11, cpid: cpid(1) }])
  for (let length = 1; length < request.length; length++) {
    expect(() => decodeTraces(request.subarray(0, length))).toThrow(MalformedOtlp)
  }
})

test('one flipped byte never does more than change or refuse the request', () => {
  const request = mergelogsRequest('kubectl', [{ new: cpid(3), sources: [cpid(1), cpid(2)] }])
  fc.assert(
    fc.property(fc.nat(request.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const broken = Buffer.from(request)
      broken[at] = (broken[at] ?? 0) ^ flip
      try {
        decodeLogs(broken)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedOtlp)
      }
    }),
  )
})

test('every span of a well-formed request is taken, or refused for its ids', () => {
  fc.assert(
    fc.property(anOtlpMessage('ExportTraceServiceRequest', 6), (json) => {
      const bytes = Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(json))))
      const decoded = decodeTraces(bytes)
      const groups = (json['resourceSpans'] ?? []) as { scopeSpans?: { spans?: unknown[] }[] }[]
      const sent = groups.flatMap((group) =>
        (group.scopeSpans ?? []).flatMap((scope) => scope.spans ?? []),
      ).length
      const taken = decoded.resources.flatMap((group) =>
        group.scopes.flatMap((scope) => scope.records),
      ).length
      expect(taken + decoded.rejected).toBe(sent)
    }),
  )
})

test('a mergelog reads the same as a log record and as a span event', () => {
  const mergelog = {
    new: cpid(3),
    sources: [cpid(1), cpid(2)],
    time: 7,
    object: 'v1/pods/default/web-1',
    reason: 'update',
  }
  const asLog = decodeLogs(mergelogsRequest('c', [mergelog])).resources[0]?.scopes[0]?.records[0]?.mergelog
  const asEvent = decodeTraces(spansRequest('c', [{ trace: 1, id: 1, events: [mergelogEvent(mergelog)] }]))
  expect(asEvent.resources[0]?.scopes[0]?.records[0]?.mergelogs).toEqual([asLog])
})

test('an older SDK names the event in an attribute', () => {
  const record = {
    observedTimeUnixNano: '5',
    attributes: [
      { key: 'event.name', value: { stringValue: 'cpid.mergelog' } },
      { key: 'cpid.new', value: { stringValue: cpid(3) } },
    ],
  }
  const json = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }
  const decoded = decodeLogs(Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(json)))))
  expect(decoded.resources[0]?.scopes[0]?.records[0]?.mergelog).toMatchObject({
    newCpid: cpid(3),
    timeNs: 5n,
    sources: [],
  })
})

test.each([
  ['a trace id of 15 bytes', { traceId: 'ab'.repeat(15) }],
  ['an all-zero trace id', { traceId: '0'.repeat(32) }],
  ['no trace id', { traceId: undefined }],
  ['a span id of 7 bytes', { spanId: 'ab'.repeat(7) }],
  ['an all-zero span id', { spanId: '0'.repeat(16) }],
  ['a parent id of 4 bytes', { parentSpanId: 'ab'.repeat(4) }],
])('%s refuses the span alone', (_, ids) => {
  const good = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), name: 'good' }
  const json = { resourceSpans: [{ scopeSpans: [{ spans: [{ ...good, ...ids, name: 'bad' }, good] }] }] }
  const decoded = decodeTraces(Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(json)))))
  expect(decoded.rejected).toBe(1)
  expect(decoded.resources[0]?.scopes[0]?.records.map((record) => record.name)).toEqual(['good'])
})
