import { expect, test } from '@jest/globals'
import type { Sender } from '../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { namedObjects } from '../../src/model/otlp/read-stored-span.ts'
import { claimedSender } from '../../src/model/otlp/request-envelopes.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { loadText, SMALLEST } from '../config/load-text.ts'
import { ask } from '../query/asking.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const alice: Sender = { username: 'alice' }
const RULES = '{ rules: [{ match: { username: alice }, clusters: [eu], services: [a] }] }'

type Attribute = [key: string, value: string | number | string[]]

function attributes(...list: Attribute[]) {
  return list.map(([key, value]) => ({ key, value: valueOf(value) }))
}

function valueOf(value: Attribute[1]): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } }
  return typeof value === 'number' ? { intValue: String(value) } : { stringValue: value }
}

function request(signal: 'traces' | 'logs', resource: Attribute[], record: object): Buffer {
  const name = signal === 'traces' ? 'resourceSpans' : 'resourceLogs'
  const scope =
    signal === 'traces' ? { scopeSpans: [{ spans: [record] }] } : { scopeLogs: [{ logRecords: [record] }] }
  const json = { [name]: [{ resource: { attributes: attributes(...resource) }, ...scope }] }
  return Buffer.from(protobufOfJson(signal, Buffer.from(JSON.stringify(json))))
}

const span = (...list: Attribute[]) => ({
  traceId: '1'.repeat(32),
  spanId: '2'.repeat(16),
  name: 'work',
  startTimeUnixNano: '1',
  endTimeUnixNano: '2',
  attributes: attributes(...list),
})
const mergelog = (...list: Attribute[]) => ({ eventName: 'cpid.mergelog', attributes: attributes(...list) })

const OWN: Attribute[] = [
  ['service.name', 'a'],
  ['k8s.cluster.name', 'eu'],
]
const TWICE: [string, Attribute[]][] = [
  ['service.name', [...OWN, ['service.name', 'b']]],
  ['service.name', [['service.name', 'b'], ...OWN]],
  ['service.name', [['service.name', 7], ...OWN]],
  ['k8s.cluster.name', [...OWN, ['k8s.cluster.name', 'us']]],
  ['k8s.cluster.name', [['k8s.cluster.name', 'us'], ...OWN]],
]

async function restricted(): Promise<TestWriter> {
  const { cpid: connector } = loadText(SMALLEST.replace('cpid: }', `cpid: { senders: ${RULES} } }`)).config
  return TestWriter.open({ senders: connector.senders! })
}

test.each(TWICE)(
  'with a policy, spans and mergelogs of a resource with two %s are refused',
  async (key, resource) => {
    using writer = await restricted()
    expect(writer.ingest('traces', request('traces', OWN, span(['cpid.id', cpid(1)])), alice)).toMatchObject({
      stored: 1,
    })
    const spans = writer.ingest('traces', request('traces', resource, span(['cpid.id', cpid(2)])), alice)
    expect(spans).toMatchObject({
      stored: 0,
      rejected: 1,
      message: expect.stringContaining(`more than one ${key}`),
    })
    const logs = writer.ingest('logs', request('logs', resource, mergelog(['cpid.new', cpid(3)])), alice)
    expect(logs).toMatchObject({
      stored: 0,
      rejected: 1,
      message: expect.stringContaining('is there more than once'),
    })
    const events = [{ name: 'cpid.mergelog', attributes: attributes(['cpid.new', cpid(4)]) }]
    expect(writer.ingest('traces', request('traces', resource, { ...span(), events }), alice)).toMatchObject({
      stored: 0,
    })
    expect(writer.rows('cpids')).toBe(1)
    expect(writer.db.prepare('SELECT cpid, reason, sender FROM audit_rejected_mergelogs').all()).toEqual([
      { cpid: cpid(3), reason: 'repeated_attribute', sender: 'alice' },
      { cpid: cpid(4), reason: 'repeated_attribute', sender: 'alice' },
    ])
  },
)

test('with a policy, so is what gives twice what the merge graph rests on', async () => {
  using writer = await restricted()
  const two: Attribute[] = [
    ['cpid.id', cpid(1)],
    ['cpid.id', cpid(2)],
  ]
  expect(writer.ingest('traces', request('traces', OWN, span(...two)), alice)).toMatchObject({
    stored: 0,
    rejected: 1,
    message: expect.stringContaining('more than one cpid.id'),
  })
  for (const record of [
    { body: { stringValue: 'a line' }, attributes: attributes(...two) },
    mergelog(['cpid.new', cpid(3)], ['cpid.new', cpid(4)]),
    mergelog(['cpid.new', cpid(3)], ['cpid.sources', []], ['cpid.sources', [cpid(4)]]),
  ])
    expect(writer.ingest('logs', request('logs', OWN, record), alice)).toMatchObject({
      stored: 0,
      rejected: 1,
    })
  expect(writer.rows('cpids')).toBe(0)
})

test('without a policy the first counts: in the graph, in views, in answers and for the queue', async () => {
  using writer = await TestWriter.open({})
  const resource: Attribute[] = [...OWN, ['service.name', 'b'], ['k8s.cluster.name', 'us']]
  const spans = request(
    'traces',
    resource,
    span(['cpid.id', cpid(1)], ['cpid.id', cpid(2)], ['x', 'first'], ['x', 'second']),
  )
  const merged = mergelog(
    ['cpid.new', cpid(1)],
    ['cpid.sources', [cpid(5)]],
    ['cpid.new', cpid(3)],
    ['cpid.sources', []],
  )
  expect(writer.ingest('traces', spans)).toMatchObject({ stored: 1, rejected: 0 })
  expect(writer.ingest('logs', request('logs', resource, merged))).toMatchObject({ stored: 1, rejected: 0 })
  expect(claimedSender(spans)).toEqual({ service: 'a', cluster: 'eu' })
  expect(writer.db.prepare('SELECT cpid, service, cluster FROM audit_spans').all()).toEqual([
    { cpid: cpid(1), service: 'a', cluster: 'eu' },
  ])
  expect(writer.db.prepare('SELECT cpid, service, cluster FROM audit_mergelogs').all()).toEqual([
    { cpid: cpid(1), service: 'a', cluster: 'eu' },
  ])
  writer.pass(1_000_000)
  const found = (query: string): number => {
    const search = { pipeline: readTraceQl(query).pipeline, limit: 10, spansPerTrace: 1 }
    return ask<{ traces: unknown[] }>(writer, { kind: 'searchTraces', shape: 'tempo', search }).traces.length
  }
  expect(found('{ resource.service.name = "a" && span.x = "first" }')).toBe(1)
  expect(found('{ resource.service.name = "b" || span.x = "second" }')).toBe(0)
})

test('the objects that a span names first count', () => {
  const bytes = request(
    'traces',
    OWN,
    span(
      ['cpid.wrote', ['v1/pods/a']],
      ['cpid.wrote', ['v1/pods/b']],
      ['cpid.observed', 3],
      ['cpid.observed', ['v1/pods/c']],
    ),
  )
  const at = bytes.indexOf(Buffer.from('1'.repeat(32), 'hex')) - 2
  expect(namedObjects(bytes.subarray(at))).toEqual({ observed: [], wrote: ['v1/pods/a'] })
})
