import { expect, test } from '@jest/globals'
import { cpid, hexSpan, hexTrace } from '../support/otlp-requests.ts'
import type { SentLog } from '../../lab/harness/sinks/log-json.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter, type TestSettings } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const BETA = cpid(0xb)
const GAMMA = cpid(0xc)

const open = (linking: TestSettings['linking'] = {}): Promise<TestWriter> =>
  TestWriter.open({ linking: { logs: true, ...linking } })

/** Log records but the mergelogs. */
const plainLogs = (writer: TestWriter): SentLog[] =>
  writer.sentLogs().filter(({ what }) => what !== 'cpid.mergelog')

test('a log record goes on with the trace id of its cascade and keeps the span id of a span that is there', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA }])
  writer.logs('controller', [{ body: 'reconciled', trace: 1, span: 11, cpid: ALPHA }])
  writer.link()
  expect(plainLogs(writer)).toEqual([
    {
      what: 'reconciled',
      traceId: traceOf(ALPHA),
      spanId: hexSpan(11),
      attributes: { 'cpid.id': ALPHA, 'cpid.original_trace_id': hexTrace(1) },
    },
  ])
})

test('mergelogs are log records too: they go on with the trace id of the cascade they entered', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA] }])
  writer.link()
  expect(writer.sentLogs().map(({ what, traceId }) => [what, traceId])).toEqual([
    ['cpid.mergelog', traceOf(ALPHA)],
    ['cpid.mergelog', traceOf(ALPHA)],
  ])
})

test('a log record without trace context gains only the trace id', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.logs('controller', [{ body: 'no span', cpid: ALPHA }])
  writer.link()
  expect(plainLogs(writer)).toEqual([
    { what: 'no span', traceId: traceOf(ALPHA), spanId: '', attributes: { 'cpid.id': ALPHA } },
  ])
})

test('without a CPID it takes that of its span, whichever comes first', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.logs('controller', [{ body: 'early', trace: 1, span: 12 }])
  writer.link()
  expect(plainLogs(writer)).toEqual([])
  writer.spans('controller', [
    { trace: 1, id: 12, parent: 11, name: 'child without a CPID' },
    { trace: 1, id: 11, cpid: ALPHA },
  ])
  writer.logs('controller', [{ body: 'late', trace: 1, span: 12 }])
  writer.link()
  const as = (what: string): SentLog => ({
    what,
    traceId: traceOf(ALPHA),
    spanId: hexSpan(12),
    attributes: { 'cpid.original_trace_id': hexTrace(1), 'cpid.id': ALPHA },
  })
  expect(plainLogs(writer)).toEqual([as('early'), as('late')])
})

test('without a CPID anywhere it goes on unchanged, after the wait where its span does not come', async () => {
  using writer = await open()
  writer.spans('other', [{ trace: 1, id: 11 }])
  writer.logs('other', [
    { body: 'of a span without a CPID', trace: 1, span: 11 },
    { body: 'of no span' },
    { body: 'of a span that never comes', trace: 9, span: 99 },
    { body: 'malformed', trace: 9, span: 99, cpid: 'not a UUID' },
  ])
  writer.pass(9_999)
  expect(plainLogs(writer).map(({ what }) => what)).toEqual([
    'of a span without a CPID',
    'of no span',
    'malformed',
  ])
  writer.pass(1)
  expect(plainLogs(writer)).toEqual([
    { what: 'of a span without a CPID', traceId: hexTrace(1), spanId: hexSpan(11), attributes: {} },
    { what: 'of no span', traceId: '', spanId: '', attributes: {} },
    { what: 'malformed', traceId: hexTrace(9), spanId: hexSpan(99), attributes: { 'cpid.id': 'not a UUID' } },
    { what: 'of a span that never comes', traceId: hexTrace(9), spanId: hexSpan(99), attributes: {} },
  ])
  expect(writer.writer.linking.takeCounts()).toMatchObject({ logs: 4, unattributedLogs: 4 })
})

test('a span missed once is not waited for again, and its id is kept: it is expected in the trace', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.logs('controller', [{ body: 'first', trace: 1, span: 11, cpid: ALPHA }])
  writer.pass(10_000)
  writer.logs('controller', [{ body: 'second', trace: 1, span: 11, cpid: ALPHA }])
  writer.link()
  expect(plainLogs(writer).map(({ what, traceId, spanId }) => [what, traceId, spanId])).toEqual([
    ['first', traceOf(ALPHA), hexSpan(11)],
    ['second', traceOf(ALPHA), hexSpan(11)],
  ])
})

test('it waits for its CPID and for its span at the same time, not for one after the other', async () => {
  using writer = await open()
  writer.logs('controller', [{ body: 'both missing', trace: 1, span: 11, cpid: ALPHA }])
  writer.pass(9_999)
  expect(plainLogs(writer)).toEqual([])
  writer.pass(1)
  expect(plainLogs(writer).map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [traceOf(ALPHA), hexSpan(11)],
  ])
})

test('the span id goes where the span is in another trace, or in none', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }, { new: BETA }])
  writer.spans('controller', [
    { trace: 1, id: 11, cpid: ALPHA },
    { trace: 2, id: 21 },
  ])
  writer.logs('controller', [
    { body: 'about another change', trace: 1, span: 11, cpid: BETA },
    { body: 'in a span without a CPID', trace: 2, span: 21, cpid: BETA },
  ])
  writer.link()
  expect(plainLogs(writer).map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [traceOf(BETA), ''],
    [traceOf(BETA), ''],
  ])
})

test('of several roots it goes to the newest one, once, as the span that is no copy', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }, { new: BETA }])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA, BETA] }])
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: GAMMA, name: 'update' }])
  writer.logs('endpoints', [
    { body: 'with span', trace: 1, span: 11, cpid: GAMMA },
    { body: 'without', cpid: GAMMA },
  ])
  writer.link()
  const original = writer
    .sent()
    .find(({ name, attributes }) => name === 'update' && attributes['cpid.copy'] === undefined)
  expect(original?.traceId).toBe(traceOf(BETA))
  expect(plainLogs(writer).map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [traceOf(BETA), hexSpan(11)],
    [traceOf(BETA), ''],
  ])
})

test('it waits for its CPID to be explained, then goes where the span went', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: GAMMA }])
  writer.logs('endpoints', [
    { body: 'own CPID', trace: 1, span: 11, cpid: GAMMA },
    { body: 'its CPID from the span', trace: 1, span: 11 },
  ])
  writer.pass(9_000)
  expect(plainLogs(writer)).toEqual([])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA] }])
  writer.link()
  expect(plainLogs(writer).map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [traceOf(ALPHA), hexSpan(11)],
    [traceOf(ALPHA), hexSpan(11)],
  ])
})

test('after the wait it goes to the trace of the missing CPID, and is not sent again', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.logs('endpoints', [{ body: 'too soon', cpid: GAMMA }])
  writer.pass(10_000)
  const [first] = plainLogs(writer)
  expect(first?.traceId).toBe(traceOf(GAMMA))
  expect(writer.sent().map(({ name }) => name)).toEqual(['change'])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA] }])
  writer.logs('endpoints', [{ body: 'afterwards', cpid: GAMMA }])
  writer.link()
  expect(plainLogs(writer).map(({ what, traceId }) => [what, traceId])).toEqual([
    ['too soon', traceOf(GAMMA)],
    ['afterwards', traceOf(ALPHA)],
  ])
})

test('log records keep no trace open and open no episode', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA }])
  writer.pass(299_000)
  writer.logs('controller', [{ body: 'still going', cpid: ALPHA }])
  writer.pass(1_000)
  expect(writer.writer.linking.takeCounts()).toMatchObject({ settled: 1 })
  writer.logs('controller', [
    { body: 'after the end', cpid: ALPHA },
    { body: 'of its span', trace: 1, span: 11, cpid: ALPHA },
  ])
  writer.pass(1_000)
  expect(writer.writer.linking.takeCounts()).toMatchObject({ episodes: 0 })
  expect(plainLogs(writer).map(({ traceId, spanId }) => [traceId, spanId])).toEqual([
    [traceOf(ALPHA), ''],
    [traceOf(ALPHA), ''],
    [traceOf(ALPHA), hexSpan(11)],
  ])
})

test('in an episode the records of a span go with it, and others to the newest trace', async () => {
  using writer = await open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA }])
  writer.pass(300_000)
  writer.spans('controller', [{ trace: 2, id: 21, cpid: ALPHA, name: 'later' }])
  writer.logs('controller', [
    { body: 'old span', trace: 1, span: 11, cpid: ALPHA },
    { body: 'new span', trace: 2, span: 21, cpid: ALPHA },
    { body: 'no span', cpid: ALPHA },
  ])
  writer.link()
  const episode = writer.sent().find(({ name }) => name === 'later')?.traceId
  expect(episode).not.toBe(traceOf(ALPHA))
  expect(plainLogs(writer).map(({ traceId }) => traceId)).toEqual([traceOf(ALPHA), episode, episode])
})

test('links: to the trace of its own CPID, without waiting for it to be explained', async () => {
  using writer = await open({ mode: 'links' })
  writer.logs('endpoints', [{ body: 'one', cpid: GAMMA, trace: 1 }])
  writer.link()
  expect(plainLogs(writer)).toEqual([
    {
      what: 'one',
      traceId: traceOf(GAMMA),
      spanId: '',
      attributes: { 'cpid.id': GAMMA, 'cpid.original_trace_id': hexTrace(1) },
    },
  ])
})

test('passthrough: in the original trace, with the CPID of its span', async () => {
  using writer = await open({ mode: 'passthrough' })
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA }])
  writer.logs('controller', [{ body: 'inherits', trace: 1, span: 11 }])
  writer.link()
  expect(plainLogs(writer)).toEqual([
    { what: 'inherits', traceId: hexTrace(1), spanId: hexSpan(11), attributes: { 'cpid.id': ALPHA } },
  ])
})

test('where nothing sends log records they are no work: nothing is decided and nothing waits', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.logs('controller', [
    { body: 'one', cpid: ALPHA },
    { body: 'two', trace: 1, span: 11 },
  ])
  writer.link()
  expect(writer.sentLogs()).toEqual([])
  expect(writer.writer.gauges().waiting).toBe(0)
  expect(writer.writer.linkLag).toBe(0)
})
