import { expect, test } from '@jest/globals'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { MAX_TEXT_BYTES } from '../../src/model/otlp/protobuf-wire.ts'
import { tempoTagsJson, tempoTagValuesJson } from '../../src/query/trace-names-json.ts'
import { ANY_SPAN, spansWith } from '../../src/query/traceql/span-filters.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

/** A character of two bytes, so that a cut in its middle would show. */
const LONG = `x${'é'.repeat(200_000)}`
const CUT = `x${'é'.repeat((MAX_TEXT_BYTES - 2) / 2)}`

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } })

test('names and texts as long as a request are cut where they are looked up, and kept whole with what they came in', async () => {
  using writer = await TestWriter.open()
  const resource = { attributes: [attribute('service.name', LONG), attribute('k8s.cluster.name', LONG)] }
  const span = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), name: LONG }
  const mergelog = {
    eventName: 'cpid.mergelog',
    attributes: [
      attribute('cpid.new', cpid(1)),
      attribute('cpid.object', LONG),
      attribute('cpid.reason', LONG),
    ],
  }
  const send = (signal: 'traces' | 'logs', request: unknown): void =>
    expect(
      writer.ingest(signal, Buffer.from(protobufOfJson(signal, Buffer.from(JSON.stringify(request))))),
    ).toMatchObject({ kind: 'accepted', stored: 1, rejected: 0 })
  send('traces', { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] })
  send('logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [{ eventName: LONG }] }] }] })
  send('logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [mergelog] }] }] })

  const { db } = writer
  expect(db.prepare('SELECT service, cluster FROM resources').all()).toEqual([{ service: CUT, cluster: CUT }])
  expect(db.prepare('SELECT name FROM spans').all()).toEqual([{ name: CUT }])
  expect(db.prepare('SELECT event_name FROM logs ORDER BY id').pluck().all()).toEqual([CUT, 'cpid.mergelog'])
  expect(db.prepare('SELECT object, reason FROM mergelogs').all()).toEqual([{ object: CUT, reason: CUT }])
  const whole = (query: string): boolean => (db.prepare(query).pluck().get() as Buffer).includes(LONG)
  expect(whole('SELECT raw FROM spans')).toBe(true)
  expect(whole('SELECT envelope FROM resources')).toBe(true)
  expect(whole("SELECT raw FROM logs WHERE event_name <> 'cpid.mergelog'")).toBe(true)
  expect(writer.queries().facets()).toMatchObject({ services: [CUT], clusters: [CUT] })
})

test('of a request with very many refused mergelogs all are counted, and the first are kept to look at', async () => {
  using writer = await TestWriter.open()
  const many = Array.from({ length: 12_000 }, () => ({ name: 'cpid.mergelog' }))
  const span = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), events: many }
  const request = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }
  const bytes = Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
  const { outcomes, counts } = writer.writer.ingest([{ signal: 'traces', bytes }])
  expect(outcomes).toMatchObject([{ kind: 'accepted', stored: 1 }])
  expect(counts.refusedMergelogs).toEqual({ malformed_cpid: many.length })
  expect(writer.rows('rejected_mergelogs')).toBe(10_000)
})

test('a span with very many mergelogs is recorded in parts', async () => {
  using writer = await TestWriter.open()
  const events = Array.from({ length: 1_000 }, (_, at) => ({
    name: 'cpid.mergelog',
    attributes: [attribute('cpid.new', cpid(at + 1))],
  }))
  const span = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), events }
  const request = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }
  const bytes = Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
  const pending = { signal: 'traces' as const, bytes }
  let parts = 0
  for (;;) {
    const { outcomes } = writer.writer.ingest([pending], () => false)
    parts++
    if (outcomes.length > 0) break
    expect(writer.rows('mergelogs')).toBe(Math.min(1_000, parts * 5))
  }
  expect(parts).toBeGreaterThanOrEqual(200)
  expect(writer.rows('mergelogs')).toBe(1_000)
  expect(writer.rows('spans')).toBe(1)
})

test('values as long as a request are listed cut', async () => {
  using writer = await TestWriter.open()
  const resource = { attributes: [attribute('service.name', LONG), attribute('x', LONG)] }
  const span = {
    traceId: '1'.repeat(32),
    spanId: '2'.repeat(16),
    name: LONG,
    attributes: [attribute(LONG, 'y')],
  }
  const request = { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }
  writer.ingest('traces', Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request)))))
  writer.pass(60_000)
  const asked = { version: 1, limit: 100, search: { pipeline: spansWith(ANY_SPAN) } } as const
  const texts = [
    tempoTagValuesJson(writer.queries(), { ...asked, tag: 'resource.x' }, () => 0),
    tempoTagValuesJson(writer.queries(), { ...asked, tag: 'name' }, () => 0),
    tempoTagsJson(writer.queries(), asked, () => 0),
  ].map((parts) => [...parts].join(''))
  for (const text of texts) {
    expect(text).toContain(LONG.slice(0, 1_024))
    expect(text.length).toBeLessThan(5_000)
  }
})
