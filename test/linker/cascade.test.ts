import { expect, test } from '@jest/globals'
import { cpid, hexTrace } from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const BETA = cpid(0xb)
const GAMMA = cpid(0xc)

async function figureFive(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA, object: 'apps/v1/deployments/default/web' }])
  writer.spans('kubectl', [{ trace: 1, id: 11, cpid: ALPHA, name: 'create deployment' }])
  writer.spans('deployment-controller', [
    { trace: 2, id: 22, parent: 21, name: 'create replicaset' },
    { trace: 2, id: 21, cpid: ALPHA, name: 'reconcile' },
  ])
  writer.mergelogs('kubectl', [{ new: BETA, object: 'v1/services/default/web', time: 30 }])
  writer.spans('kubectl', [{ trace: 3, id: 31, cpid: BETA, name: 'create service' }])
  writer.mergelogs('endpoints-controller', [{ new: GAMMA, sources: [ALPHA, BETA], time: 40 }])
  writer.spans('endpoints-controller', [{ trace: 4, id: 41, cpid: GAMMA, name: 'update endpoints' }])
  return writer
}

test('the cascade of the paper, Figure 5: one trace for each root, the merge in both', async () => {
  using writer = await figureFive()
  writer.pass(301_000)
  const sent = writer.sent()

  expect(drawTrace(sent, traceOf(ALPHA))).toBe(
    [
      'change apps/v1/deployments @kubectl',
      '  create deployment @kubectl',
      '  reconcile @deployment-controller',
      '    create replicaset @deployment-controller',
      '  merge @endpoints-controller',
      '    update endpoints @endpoints-controller copy',
      '  cascade @kubectl',
    ].join('\n'),
  )
  expect(drawTrace(sent, traceOf(BETA))).toBe(
    [
      'change v1/services @kubectl',
      '  create service @kubectl',
      '  merge @endpoints-controller',
      '    update endpoints @endpoints-controller',
      '  cascade @kubectl',
    ].join('\n'),
  )
  expect(sent.every((span) => [ALPHA, BETA].map(traceOf).includes(span.traceId))).toBe(true)
})

test('a controller span keeps its id and gains its original trace and an inherited CPID', async () => {
  using writer = await figureFive()
  writer.link()
  const child = writer.sent().find((span) => span.name === 'create replicaset')
  expect(child?.spanId).toBe('0000000000000016')
  expect(child?.parentSpanId).toBe('0000000000000015')
  expect(child?.attributes).toEqual({ 'cpid.original_trace_id': hexTrace(2), 'cpid.id': ALPHA })
})

test('change spans say what they stand for and link to their other sources', async () => {
  using writer = await figureFive()
  writer.link()
  const sent = writer.sent()
  const root = sent.find((span) => span.traceId === traceOf(ALPHA) && span.parentSpanId === '')
  expect(root?.attributes).toEqual({
    'cpid.id': ALPHA,
    'cpid.synthetic': true,
    'cpid.time': '2026-01-01T00:00:00.000000000Z',
    'cpid.object': 'apps/v1/deployments/default/web',
  })
  const merge = sent.find((span) => span.traceId === traceOf(ALPHA) && span.name === 'merge')
  expect(merge?.attributes['cpid.sources']).toEqual([ALPHA, BETA])
  expect(merge?.parentSpanId).toBe(root?.spanId)
  const betaRoot = sent.find((span) => span.traceId === traceOf(BETA) && span.parentSpanId === '')
  expect(merge?.links.map(({ traceId, spanId }) => ({ traceId, spanId }))).toEqual([
    { traceId: traceOf(BETA), spanId: betaRoot?.spanId },
  ])
})

test('the cascade span counts what was linked', async () => {
  using writer = await figureFive()
  writer.pass(301_000)
  const settled = writer.sent().find((span) => span.name === 'cascade' && span.traceId === traceOf(ALPHA))
  expect(settled?.attributes).toMatchObject({
    'cpid.cascade.duration_ms': 42,
    'cpid.cascade.spans': 4,
    'cpid.cascade.services': 3,
    'cpid.cascade.merges': 1,
    'cpid.cascade.missing': 0,
  })
})

test('a span without a CPID anywhere above it is forwarded unchanged', async () => {
  using writer = await TestWriter.open()
  writer.spans('apiserver', [{ trace: 9, id: 91, name: 'GET', attributes: { 'http.target': '/healthz' } }])
  writer.link()
  const [span] = writer.sent()
  expect(span).toMatchObject({
    traceId: hexTrace(9),
    parentSpanId: '',
    attributes: { 'http.target': '/healthz' },
  })
  expect(writer.writer.linking.takeCounts().unattributed).toBe(1)
})

test('after settling, activity opens an episode linked to the trace before', async () => {
  using writer = await figureFive()
  writer.pass(301_000)
  const before = writer.sent().length
  writer.spans('deployment-controller', [{ trace: 5, id: 51, cpid: ALPHA, name: 'resync', start: 301_000 }])
  writer.link()
  const sent = writer.sent()
  const fresh = sent.slice(before)
  expect(fresh.map((span) => span.name)).toEqual(['episode apps/v1/deployments', 'continued in', 'resync'])
  const [episode, continued, resync] = fresh
  expect(episode?.traceId).not.toBe(traceOf(ALPHA))
  expect(resync?.traceId).toBe(episode?.traceId)
  expect(resync?.parentSpanId).toBe(episode?.spanId)
  expect(continued?.traceId).toBe(traceOf(ALPHA))
  expect(continued?.links[0]).toMatchObject({ traceId: episode?.traceId, spanId: episode?.spanId })
  const root = sent.find((span) => span.traceId === traceOf(ALPHA) && span.parentSpanId === '')
  expect(episode?.links[0]).toMatchObject({ traceId: traceOf(ALPHA), spanId: root?.spanId })
  expect(episode?.attributes['cpid.episode']).toBe(1)
})

test('when all roots have settled, activity joins the newest one’s episode, though an older one has an episode open', async () => {
  using writer = await figureFive()
  writer.pass(301_000)
  // Work of the older root alone opens an episode of it.
  writer.spans('deployment-controller', [{ trace: 5, id: 51, cpid: ALPHA, name: 'resync', start: 301_000 }])
  writer.link()
  writer.spans('endpoints-controller', [{ trace: 6, id: 61, cpid: GAMMA, name: 'sync', start: 302_000 }])
  writer.spans('endpoints-controller', [{ trace: 7, id: 71, cpid: GAMMA, name: 'again', start: 303_000 }])
  writer.link()
  const sent = writer.sent()
  const episodes = sent.filter((span) => span.name.startsWith('episode'))
  expect(episodes.map((span) => span.attributes['cpid.id'])).toEqual([ALPHA, BETA])
  const work = sent.filter((span) => span.name === 'sync' || span.name === 'again')
  expect(work.map((span) => span.traceId)).toEqual([episodes[1]?.traceId, episodes[1]?.traceId])
})
