import { expect, test } from '@jest/globals'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { analyseCascadeAtOnce } from '../../src/query/cascade-analysis.ts'
import {
  changeIt,
  DEPLOYMENT,
  FIRST,
  makeIt,
  MERGED,
  MINUTE,
  observed,
  REPLICASET,
  SECOND,
  wrote,
} from '../support/changed-again.ts'
import { cpid, hexSpan, mergelogEvent } from '../support/otlp-requests.ts'
import { drawTrace, type SentSpan, traceOf } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

const cascadeOf = (sent: readonly SentSpan[], root: string): SentSpan['attributes'] | undefined =>
  sent.find(({ name, traceId }) => name === 'cascade' && traceId === traceOf(root))?.attributes

test('a change of the same object a minute later does not prolong the change before', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  writer.pass(MINUTE)
  changeIt(writer)
  writer.pass(MINUTE)
  // The first has been silent for settle_after, the second has not.
  writer.pass(300_000 - 2 * MINUTE + 1)
  const early = writer.sent()
  expect(cascadeOf(early, FIRST)).toMatchObject({
    'cpid.cascade.duration_ms': 30,
    'cpid.cascade.spans': 2,
    'cpid.cascade.services': 2,
    'cpid.cascade.merges': 0,
  })
  expect(cascadeOf(early, SECOND)).toBeUndefined()
  writer.pass(MINUTE + 1)
  const sent = writer.sent()
  expect(cascadeOf(sent, SECOND)).toMatchObject({
    'cpid.cascade.duration_ms': 30,
    'cpid.cascade.spans': 2,
    'cpid.cascade.merges': 1,
  })
  expectSoundTraces(sent)
})

test('what another change drives is a copy, and shown where it would hang', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.pass(11_000)
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(FIRST))).toBe(
    [
      'change apps/v1/deployments @kubectl',
      '  span 1 @kubectl',
      '    span 2 @deployment-controller',
      '    span 3 @kubectl copy',
      '      span 4 @deployment-controller copy',
      '  merge @kubectl',
    ].join('\n'),
  )
  expect(drawTrace(sent, traceOf(SECOND))).toBe(
    [
      'change apps/v1/deployments @kubectl',
      '  merge @kubectl',
      '    span 3 @kubectl',
      '      span 4 @deployment-controller',
    ].join('\n'),
  )
  const driven = writer.db
    .prepare<[], [string, string]>(
      `SELECT root, span_id FROM audit_cascade_spans WHERE activity = 'yes' AND copy = 'yes'`,
    )
    .all()
  expect(driven).toEqual([])
})

test('of two changes the older one drives what follows from it alone: there the newer one has the copy', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.link()
  // The status of what the first one made; nothing of the second is in it.
  writer.spans('replicaset-controller', [
    { trace: 5, id: 5, cpid: MERGED, start: 40, attributes: observed(`${REPLICASET}?rv=11`) },
  ])
  writer.pass(11_000)
  const sent = writer.sent().filter(({ name }) => name === 'span 5')
  expect(sent.map(({ traceId, attributes }) => [traceId, attributes['cpid.copy'] ?? false])).toEqual([
    [traceOf(FIRST), false],
    [traceOf(SECOND), true],
  ])
})

test('a child is driven by what drives its parent, though it came first', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.link()
  writer.spans('deployment-controller', [
    { trace: 6, id: 61, parent: 60, cpid: MERGED, start: MINUTE + 40, name: 'update' },
  ])
  writer.pass(5_000)
  expect(writer.sent().some(({ name }) => name === 'update')).toBe(false)
  writer.spans('deployment-controller', [
    { trace: 6, id: 60, cpid: MERGED, start: MINUTE + 40, attributes: observed(`${DEPLOYMENT}?rv=20`) },
  ])
  writer.link()
  const sent = writer.sent().filter(({ name }) => name === 'update')
  expect(sent.map(({ traceId, attributes }) => [traceId, attributes['cpid.copy'] ?? false])).toEqual([
    [traceOf(SECOND), false],
    [traceOf(FIRST), true],
  ])
})

test('a parent that never comes is waited for no longer than `wait`; then all roots drive its child', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.link()
  writer.spans('controller', [{ trace: 6, id: 61, parent: 60, cpid: MERGED, start: MINUTE, name: 'update' }])
  writer.pass(9_999)
  expect(writer.sent().some(({ name }) => name === 'update')).toBe(false)
  writer.pass(2)
  expect(writer.sent().filter(({ name }) => name === 'update')).toHaveLength(2)
  const activity = writer.db
    .prepare<[], string>(`SELECT activity FROM audit_cascade_spans WHERE name = 'update'`)
    .pluck()
    .all()
  expect(activity).toEqual(['yes', 'yes'])
  expect(writer.writer.gauges()).toMatchObject({ waiting: 0 })
})

test('where what drives a span has settled it opens an episode of that, and is a copy where another root is open', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  writer.pass(300_001)
  changeIt(writer)
  writer.link()
  writer.spans('kubelet', [
    { trace: 5, id: 5, cpid: MERGED, start: 301_000, attributes: observed(`${REPLICASET}?rv=11`) },
  ])
  writer.pass(11_000)
  const sent = writer.sent()
  const episode = sent.find(({ name }) => name.startsWith('episode'))
  expect(episode?.attributes['cpid.id']).toBe(FIRST)
  const work = sent.filter(({ name }) => name === 'span 5')
  expect(work.map(({ traceId, attributes }) => [traceId, attributes['cpid.copy'] ?? false])).toEqual([
    [episode?.traceId, false],
    [traceOf(SECOND), true],
  ])
  expectSoundTraces(sent)
})

test('a merge is of what drives the span that told of it, as a log record or as an event of it', async () => {
  for (const asEvent of [false, true]) {
    using writer = await TestWriter.open()
    makeIt(writer)
    changeIt(writer)
    writer.pass(300_001)
    const told = {
      new: cpid(9),
      sources: [MERGED, SECOND],
      time: 400_000,
      ...(!asEvent && { told: { trace: 7, id: 7 } }),
    }
    if (!asEvent) writer.mergelogs('kubelet', [told])
    writer.link()
    // Everything has settled: until it is known what drives the merge, no episode is opened for it.
    expect(writer.sent().some(({ name }) => name.startsWith('episode'))).toBe(false)
    writer.spans('kubelet', [
      {
        trace: 7,
        id: 7,
        cpid: cpid(9),
        start: 400_000,
        attributes: observed(`${REPLICASET}?rv=11`),
        ...(asEvent && { events: [mergelogEvent(told)] }),
      },
    ])
    writer.pass(1)
    const episodes = writer.sent().filter(({ name }) => name.startsWith('episode'))
    expect(episodes.map(({ attributes }) => attributes['cpid.id'])).toEqual([FIRST])
  }
})

test('a merge whose span never comes is of all its roots, once that has been missed for `wait`', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.pass(11_000)
  writer.mergelogs('lost', [{ new: cpid(9), sources: [MERGED], time: 90_000, told: { trace: 7, id: 7 } }])
  writer.pass(9_999)
  const merges = (): number => writer.sent().filter(({ service }) => service === 'lost').length
  expect(merges()).toBe(0)
  writer.pass(2)
  expect(merges()).toBe(2)
})

test('a late mergelog whose span is of one root opens the cascade of the other for what both drive', async () => {
  using writer = await TestWriter.open()
  const [known, unknown, merged] = [cpid(1), cpid(2), cpid(3)]
  writer.mergelogs('kubectl', [{ new: known }])
  writer.spans('teller', [{ trace: 7, id: 7, cpid: known }])
  writer.spans('controller', [{ trace: 5, id: 5, cpid: merged }])
  writer.pass(20_000)
  writer.mergelogs('teller', [{ new: merged, sources: [known, unknown], told: { trace: 7, id: 7 } }])
  writer.pass(20_000)
  const traces = writer.sent().flatMap(({ spanId, traceId }) => (spanId === hexSpan(5) ? traceId : []))
  expect(traces).toEqual(expect.arrayContaining([traceOf(known), traceOf(unknown)]))
  expectSoundTraces(writer.sent())
})

test('what descends from a late mergelog of a CPID without a trace is a copy in the cascade of its root', async () => {
  using writer = await TestWriter.open()
  const [begun, root, late, merged] = [cpid(1), cpid(2), cpid(3), cpid(4)]
  writer.mergelogs('kubectl', [{ new: root }])
  // It begins a change itself, so that this alone drives it.
  const events = [mergelogEvent({ new: begun })]
  writer.mergelogs('controller', [{ new: merged, sources: [begun, late], told: { trace: 5, id: 5 } }])
  writer.spans('controller', [{ trace: 5, id: 5, cpid: merged, events }])
  writer.pass(20_000)
  writer.mergelogs('controller', [{ new: late, sources: [root] }])
  writer.pass(20_000)
  const sent = writer.sent().filter(({ spanId }) => spanId === hexSpan(5))
  expect(sent.map(({ traceId, attributes }) => [traceId, attributes['cpid.copy']])).toEqual([
    [traceOf(begun), undefined],
    [traceOf(root), true],
  ])
  expectSoundTraces(writer.sent())
})

test('of many objects that it observed the one written last counts, and none that another change wrote', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.mergelogs('kubectl', [{ new: cpid(8) }])
  const podAt = (at: number): string => `v1/pods/default/p${at}?rv=${100 + at}`
  writer.spans('kubectl', [{ trace: 8, id: 8, cpid: cpid(8), start: 90_000, attributes: wrote(podAt(0)) }])
  for (let at = 1; at <= 20; at++) {
    const [by, start] =
      at === 20 ? [`${DEPLOYMENT}?rv=20`, MINUTE + 90] : [`${REPLICASET}?rv=11`, MINUTE + at]
    const attributes = { ...observed(by), ...wrote(podAt(at)) }
    writer.spans('kubelet', [{ trace: 100 + at, id: 100 + at, cpid: MERGED, start, attributes }])
  }
  const pods = Array.from({ length: 21 }, (_, at) => podAt(at))
  writer.spans('endpoints', [
    { trace: 9, id: 9, cpid: MERGED, start: 99_000, name: 'slice', attributes: observed(...pods) },
  ])
  writer.pass(11_000)
  const driven = writer.db
    .prepare<[], string>(`SELECT root FROM audit_cascade_spans WHERE name = 'slice' AND activity = 'yes'`)
    .pluck()
    .all()
  expect(driven).toEqual([SECOND])
})

test('where the time went is told of activity alone', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.pass(11_000)
  const queries = writer.queries()
  const facts = queries.cascade(FIRST as Cpid)
  if (typeof facts === 'string') throw new Error(facts)
  const { path, services } = analyseCascadeAtOnce(queries, facts)
  expect(path.map(({ span }) => span.name)).toEqual(['change apps/v1/deployments', 'span 1', 'span 2'])
  expect(services.map(({ service, spans }) => [service, spans])).toEqual([
    ['deployment-controller', 1],
    ['kubectl', 1],
  ])
})

test('a copy that finds a trace full makes it go on, but neither longer nor later', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 7 } })
  makeIt(writer)
  writer.pass(MINUTE)
  changeIt(writer)
  writer.pass(300_000 - MINUTE + 1)
  const said = writer
    .sent()
    .find(({ name, attributes }) => name === 'cascade' && attributes['cpid.id'] === FIRST)
  expect(said?.attributes).toMatchObject({ 'cpid.cascade.duration_ms': 30, 'cpid.cascade.spans': 2 })
  expect(writer.sent().some(({ name }) => name === 'continued in')).toBe(true)
})

test('who waits for a span that waits itself does so until that is sent', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.pass(11_000)
  const told = { new: cpid(9), sources: [MERGED], time: 90_000, told: { trace: 6, id: 60 } }
  writer.mergelogs('deployment-controller', [told])
  const missing = 'v1/secrets/default/unknown?rv=77'
  const mine = { trace: 6, cpid: cpid(9), start: 90_000 }
  writer.spans('deployment-controller', [
    { ...mine, id: 61, parent: 60, name: 'update' },
    { ...mine, id: 60, attributes: observed(`${DEPLOYMENT}?rv=20`, missing) },
  ])
  writer.pass(10_000)
  const rows = writer.db
    .prepare<[], string>(`SELECT root FROM audit_cascade_spans WHERE name = 'update' AND activity = 'yes'`)
    .pluck()
    .all()
  expect(rows).toEqual([SECOND])
  writer.pass(300_001)
  expect(cascadeOf(writer.sent(), FIRST)).toMatchObject({ 'cpid.cascade.merges': 0 })
})

test('a log record goes with its span into the trace of what drives that', async () => {
  using writer = await TestWriter.open({ linking: { logs: true } })
  writer.keepExporters('logs', ['otlp/logs'])
  makeIt(writer)
  changeIt(writer)
  writer.link()
  const attributes = observed(`${REPLICASET}?rv=11`)
  writer.spans('replicaset-controller', [{ trace: 5, id: 5, cpid: MERGED, start: 40, attributes }])
  writer.logs('replicaset-controller', [{ body: 'done', trace: 5, span: 5, cpid: MERGED }])
  writer.link()
  expect(writer.sentLogs().at(-1)?.traceId).toBe(traceOf(FIRST))
})
