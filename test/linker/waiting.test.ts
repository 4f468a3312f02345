import { expect, test } from '@jest/globals'
import { cpid, hexSpan, hexTrace } from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const GAMMA = cpid(0xc)
const DELTA = cpid(0xd)

test('a span waits for the mergelog of its CPID and then leaves into the right trace only', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: GAMMA, name: 'update' }])
  writer.pass(9_000)
  expect(writer.sent().map((span) => span.name)).toEqual(['change'])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA] }])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  merge @endpoints\n    update @endpoints',
  )
  expect(writer.sent().some((span) => span.traceId === traceOf(GAMMA))).toBe(false)
  expect(writer.writer.linking.takeCounts().lateMergelogs).toBe(0)
})

test('a span goes on waiting for its mergelog when the writer of what it observed comes first', async () => {
  using writer = await TestWriter.open()
  const pod = 'v1/pods/default/web?rv=5'
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('kubelet', [
    { trace: 1, id: 11, cpid: GAMMA, name: 'start', attributes: { 'cpid.observed': [pod] } },
  ])
  writer.link()
  writer.spans('scheduler', [
    { trace: 2, id: 21, cpid: ALPHA, name: 'bind', attributes: { 'cpid.wrote': [pod] } },
  ])
  writer.link()
  expect(writer.sent().map((span) => span.name)).toEqual(['change', 'bind'])
  writer.mergelogs('kubelet', [{ new: GAMMA, sources: [ALPHA] }])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  bind @scheduler\n    start @kubelet\n  merge @kubelet',
  )
  expect(writer.sent().some((span) => span.traceId === traceOf(GAMMA))).toBe(false)
  expect(writer.writer.linking.takeCounts().lateMergelogs).toBe(0)
})

test('after the wait a CPID without a mergelog counts as a root', async () => {
  using writer = await TestWriter.open()
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: GAMMA, name: 'update' }])
  writer.pass(10_001)
  expect(drawTrace(writer.sent(), traceOf(GAMMA))).toBe('change @causeway\n  update @endpoints')
})

test('what is missing is missed once: the next span of the same CPID does not wait again', async () => {
  using writer = await TestWriter.open()
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: GAMMA, name: 'first' }])
  writer.pass(10_001)
  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'second' }])
  writer.link()
  expect(writer.sent().map((span) => span.name)).toEqual(['change', 'first', 'second'])
})

test('a missing ancestor counts as a root beside the known ones', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.mergelogs('endpoints', [{ new: DELTA, sources: [ALPHA, GAMMA] }])
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: DELTA, name: 'update' }])
  writer.pass(10_001)
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(ALPHA))).toBe(
    'change @kubectl\n  merge @endpoints\n    update @endpoints copy',
  )
  expect(drawTrace(sent, traceOf(GAMMA))).toBe('change @causeway\n  merge @endpoints\n    update @endpoints')
})

test('a late mergelog sends again what was sent, once, and the provisional trace says where it went', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [
    { trace: 1, id: 12, parent: 11, cpid: GAMMA, name: 'child' },
    { trace: 1, id: 11, cpid: GAMMA, name: 'update' },
  ])
  writer.pass(10_001)
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 5 }])
  writer.link()
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(ALPHA))).toBe(
    'change @kubectl\n  merge @endpoints\n    update @endpoints copy\n      child @endpoints copy',
  )
  expect(drawTrace(sent, traceOf(GAMMA))).toBe(
    'change @causeway\n  update @endpoints\n    child @endpoints\n  merged into @endpoints\n  cascade @endpoints',
  )
  const link = sent.find((span) => span.name === 'merged into')?.links[0]
  const merge = sent.find((span) => span.name === 'merge')
  expect(link).toMatchObject({ traceId: traceOf(ALPHA), spanId: merge?.spanId })
  expect(writer.writer.linking.takeCounts().lateMergelogs).toBe(1)

  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'again' }])
  writer.link()
  expect(writer.sent().at(-1)).toMatchObject({ name: 'again', traceId: traceOf(ALPHA) })
})

test('a late mergelog also moves the descendants of its CPID', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.mergelogs('endpoints', [{ new: DELTA, sources: [GAMMA], time: 6 }])
  writer.spans('endpoints', [{ trace: 1, id: 11, cpid: DELTA, name: 'update' }])
  writer.pass(10_001)
  expect(drawTrace(writer.sent(), traceOf(GAMMA))).toBe(
    'change @causeway\n  merge @endpoints\n    update @endpoints',
  )
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 5 }])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  merge @endpoints\n    merge @endpoints\n      update @endpoints copy',
  )
})

test('a late mergelog without sources sends nothing again', async () => {
  using writer = await TestWriter.open()
  writer.spans('kubectl', [{ trace: 1, id: 11, cpid: ALPHA, name: 'apply' }])
  writer.pass(10_001)
  const before = writer.sent().length
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.link()
  expect(writer.sent().length).toBe(before)
  expect(writer.writer.linking.takeCounts().lateMergelogs).toBe(1)
})

test('a span without a CPID waits for its parent, then leaves unattributed', async () => {
  using writer = await TestWriter.open()
  writer.spans('kubelet', [{ trace: 1, id: 12, parent: 11, name: 'child' }])
  writer.pass(9_000)
  expect(writer.sent()).toEqual([])
  writer.pass(1_001)
  expect(writer.sent()).toMatchObject([{ name: 'child', traceId: hexTrace(1), parentSpanId: hexSpan(11) }])
})

test('a parent that comes late with a CPID takes its children along', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('kubelet', [
    { trace: 1, id: 13, parent: 12, name: 'grandchild' },
    { trace: 1, id: 12, parent: 11, name: 'child' },
  ])
  writer.pass(10_001)
  writer.spans('kubelet', [{ trace: 1, id: 11, cpid: ALPHA, name: 'parent' }])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  parent @kubelet\n    child @kubelet copy\n      grandchild @kubelet copy',
  )
  expect(writer.writer.linking.takeCounts().lateParents).toBe(1)
})

test('a parent without a CPID is brought into the trace of its child, even when that has settled', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('kubelet', [{ trace: 1, id: 12, parent: 11, cpid: ALPHA, name: 'child' }])
  writer.pass(300_001)
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toContain('(orphan)\n  child')
  writer.spans('kubelet', [{ trace: 1, id: 11, name: 'parent' }])
  writer.link()
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(ALPHA))).toBe(
    'change @kubectl\n  cascade @kubectl\n  parent @kubelet copy\n    child @kubelet',
  )
  expect(sent.filter((span) => span.name === 'parent').map((span) => span.traceId)).toEqual([
    hexTrace(1),
    traceOf(ALPHA),
  ])
})

test('two spans that name each other as parent do not make a loop', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('odd', [
    { trace: 1, id: 11, parent: 12, cpid: ALPHA, name: 'one' },
    { trace: 1, id: 12, parent: 11, cpid: ALPHA, name: 'other' },
  ])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe('change @kubectl\n  other @odd\n    one @odd')
})

test('down time settles nothing and shortens no wait', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.link()
  writer.clock.setWall(writer.clock.wallMs() + 86_400_000)
  writer.pass(0)
  expect(writer.sent().map((span) => span.name)).toEqual(['change'])
})

test('a span with a malformed cpid.id stays unattributed; its child takes the CPID above it', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('odd', [
    { trace: 1, id: 11, cpid: ALPHA, name: 'top' },
    { trace: 1, id: 12, parent: 11, cpid: 'not-a-uuid', name: 'middle' },
    { trace: 1, id: 13, parent: 12, name: 'bottom' },
  ])
  writer.link()
  const sent = writer.sent()
  expect(sent.find((span) => span.name === 'middle')).toMatchObject({
    traceId: hexTrace(1),
    attributes: { 'cpid.id': 'not-a-uuid' },
  })
  expect(sent.find((span) => span.name === 'bottom')).toMatchObject({
    traceId: traceOf(ALPHA),
    attributes: { 'cpid.id': ALPHA },
  })
})

test('a span waits for its parent, whose own wait for a mergelog it then shares', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [
    { trace: 1, id: 12, parent: 11, name: 'child' },
    { trace: 1, id: 11, cpid: GAMMA, name: 'update' },
  ])
  writer.pass(9_000)
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA] }])
  writer.link()
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  merge @endpoints\n    update @endpoints\n      child @endpoints',
  )
})

test('a parent and its child that name each other as parent end together, as soon as both have waited', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA, DELTA] }])
  writer.spans('endpoints', [
    { trace: 1, id: 12, parent: 11, name: 'child' },
    { trace: 1, id: 11, parent: 12, cpid: GAMMA, name: 'update' },
  ])
  writer.pass(11_000)
  writer.pass(1)
  expect(writer.rows('waiting')).toBe(0)
  const names = writer.sent().filter(({ traceId }) => traceId === traceOf(DELTA))
  expect(names.map(({ name }) => name).sort()).toEqual(['change', 'child', 'merge', 'update'])
})

test('very many spans that waited for one mergelog go as soon as few, turn by turn', async () => {
  // Where each span looked at all others that wait, these would take minutes.
  const [requests, each] = [40, 500]
  using writer = await TestWriter.open()
  for (let request = 0; request < requests; request++) {
    const spans = Array.from({ length: each }, (_, at) => {
      const id = 1 + request * each + at
      return { trace: id, id, cpid: GAMMA, name: 'update' }
    })
    writer.spans('endpoints', spans)
  }
  writer.link()
  expect(writer.rows('waiting')).toBe(requests * each)
  writer.pass(10_001)
  expect([writer.rows('waiting'), writer.rows('outbox WHERE span IS NOT NULL')]).toEqual([0, requests * each])
})

test('a step whose time is over leaves what is left to the next, whether it came, waited too long or is released', async () => {
  using writer = await TestWriter.open()
  const never = (): boolean => false
  const names = (): string[] => writer.sent().map(({ name }) => name)
  writer.spans(
    'kubelet',
    [1, 2, 3].map((trace) => ({ trace, id: trace, cpid: cpid(trace), name: `update ${trace}` })),
  )
  expect([1, 2, 3, 4].map(() => writer.writer.link(500, never))).toEqual([1, 1, 1, 0])
  writer.clock.advance(10_001)
  expect(writer.writer.linking.expire(500, never)).toBe(true)
  expect(names()).toEqual(['change', 'update 1'])
  while (writer.writer.reader.isAnythingDue()) writer.writer.linking.expire(500, never)
  expect(names().filter((name) => name !== 'change')).toEqual(['update 1', 'update 2', 'update 3'])

  const late = (): string[] => names().filter((name) => name.startsWith('late'))
  writer.spans(
    'endpoints',
    [4, 5, 6].map((trace) => ({ trace, id: trace, cpid: GAMMA, name: `late ${trace}` })),
  )
  writer.link()
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [cpid(1)] }])
  expect([writer.writer.link(500, never), late(), writer.writer.isLinkDue]).toEqual([1, [], true])
  // What arrives meanwhile goes after what is released.
  writer.spans('endpoints', [{ trace: 7, id: 7, cpid: GAMMA, name: 'late 7' }])
  while (writer.writer.link(500, never) > 0);
  expect(late()).toEqual(['late 4', 'late 5', 'late 6', 'late 7'])
  expect([writer.rows('unfinished_steps'), writer.writer.isLinkDue]).toEqual([0, false])
})
