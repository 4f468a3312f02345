import { expect, test } from '@jest/globals'
import { cpid, hexTrace, nanosAfter } from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const BETA = cpid(0xb)
const GAMMA = cpid(0xc)

async function merged(mode: 'links' | 'passthrough'): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { mode } })
  writer.mergelogs('kubectl', [{ new: ALPHA }, { new: BETA }])
  writer.spans('kubectl', [{ trace: 1, id: 11, cpid: ALPHA, name: 'create' }])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA, BETA], time: 4 }])
  writer.spans('endpoints', [
    { trace: 2, id: 22, parent: 21, name: 'patch' },
    { trace: 2, id: 21, cpid: GAMMA, name: 'update' },
  ])
  return writer
}

test('links: every CPID is its own trace, merges are links both ways, no span is duplicated', async () => {
  using writer = await merged('links')
  writer.pass(300_001)
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(ALPHA))).toBe('change @kubectl\n  create @kubectl\n  merged into @endpoints')
  expect(drawTrace(sent, traceOf(GAMMA))).toBe('merge @endpoints\n  update @endpoints\n    patch @endpoints')
  const rootOf = (id: string): string | undefined =>
    sent.find((span) => span.traceId === traceOf(id) && span.parentSpanId === '')?.spanId
  const gammaRoot = sent.find((span) => span.name === 'merge')
  expect(gammaRoot?.links.map(({ traceId, spanId }) => ({ traceId, spanId }))).toEqual([
    { traceId: traceOf(ALPHA), spanId: rootOf(ALPHA) },
    { traceId: traceOf(BETA), spanId: rootOf(BETA) },
  ])
  const forward = sent.filter((span) => span.name === 'merged into')
  expect(forward.map((span) => span.traceId).sort()).toEqual([ALPHA, BETA].map(traceOf))
  expect(forward.every((span) => span.links[0]?.spanId === gammaRoot?.spanId)).toBe(true)
  expect(sent.some((span) => span.name === 'cascade' || span.attributes['cpid.copy'] === true)).toBe(false)
})

test('links: only the change span waits; a late mergelog adds its links', async () => {
  using writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'update' }])
  writer.link()
  expect(writer.sent().map((span) => span.name)).toEqual(['change', 'update'])
  writer.pass(10_001)
  expect(drawTrace(writer.sent(), traceOf(GAMMA))).toBe('change @causeway\n  update @endpoints')
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 1 }])
  writer.link()
  const sent = writer.sent()
  expect(drawTrace(sent, traceOf(GAMMA))).toBe(
    'change @causeway\n  update @endpoints\n  merged from @endpoints',
  )
  expect(sent.find((span) => span.name === 'merged from')?.links[0]?.traceId).toBe(traceOf(ALPHA))
  expect(drawTrace(sent, traceOf(ALPHA))).toBe('change @kubectl\n  merged into @endpoints')
})

/** The traces that a CPID's spans of this name link to. */
const linkedFrom = (writer: TestWriter, name: string, id: string): string[] =>
  writer
    .sent()
    .filter((span) => span.name === name && span.attributes['cpid.id'] === id)
    .flatMap(({ links }) => links.map(({ traceId }) => traceId))

test.each([
  ['comes after it', (writer: TestWriter) => writer.mergelogs('kubectl', [{ new: ALPHA }])],
  ['never comes', (writer: TestWriter) => writer.spans('kubectl', [{ trace: 1, id: 11, cpid: ALPHA }])],
  ['never comes, and nothing else of that change', () => undefined],
] as const)('links: a merge is linked both ways with a source whose mergelog %s', async (_, arrives) => {
  using writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 1 }])
  arrives(writer)
  writer.pass(10_000)
  expect(linkedFrom(writer, 'merge', GAMMA)).toEqual([traceOf(ALPHA)])
  expect(linkedFrom(writer, 'merged into', ALPHA)).toEqual([traceOf(GAMMA)])
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toMatch(/^change @/)
  const change = writer.sent().find(({ name }) => name === 'change')
  expect(change?.startNs).toBeLessThanOrEqual(BigInt(nanosAfter(11)))
})

test('links: a child that went without a CPID is not sent again when its parent comes late', async () => {
  using writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('controller', [{ trace: 1, id: 12, parent: 11, name: 'child' }])
  writer.pass(10_000)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: ALPHA, name: 'parent' }])
  writer.link()
  const sent = writer.sent().map(({ name, traceId }) => [name, traceId])
  expect(sent).toEqual([
    ['change', traceOf(ALPHA)],
    ['child', hexTrace(1)],
    ['parent', traceOf(ALPHA)],
  ])
})

test('links: a mergelog within the wait gives the change span its sources', async () => {
  using writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'update' }])
  writer.pass(5_000)
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 1 }])
  writer.pass(20_000)
  expect(drawTrace(writer.sent(), traceOf(GAMMA))).toBe('merge @endpoints\n  update @endpoints')
})

test('passthrough: spans stay in their traces and gain roots and links to the change spans', async () => {
  using writer = await merged('passthrough')
  writer.pass(300_001)
  const sent = writer.sent()
  const update = sent.find((span) => span.name === 'update')
  expect(update).toMatchObject({ traceId: hexTrace(2), parentSpanId: '' })
  expect(update?.attributes['cpid.roots']).toEqual([BETA, ALPHA])
  expect(update?.attributes['cpid.original_trace_id']).toBeUndefined()
  for (const link of update?.links ?? []) {
    expect(sent.some((span) => span.traceId === link.traceId && span.spanId === link.spanId)).toBe(true)
  }
  expect(update?.links.map((link) => link.traceId)).toEqual([GAMMA, BETA, ALPHA].map(traceOf))
  const patch = sent.find((span) => span.name === 'patch')
  expect(patch?.attributes['cpid.id']).toBe(GAMMA)
  expect(drawTrace(sent, traceOf(GAMMA))).toBe('merge @endpoints')
})

test('passthrough: a span of a CPID without a mergelog links to a change span that exists', async () => {
  using writer = await TestWriter.open({ linking: { mode: 'passthrough' } })
  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'update' }])
  writer.pass(10_001)
  const sent = writer.sent()
  const [link] = sent.find((span) => span.name === 'update')?.links ?? []
  expect(sent.find((span) => span.spanId === link?.spanId)).toMatchObject({
    name: 'change',
    traceId: link?.traceId,
  })
})

test('links of a span to spans that moved are re-pointed, others stay', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('one', [{ trace: 1, id: 11, cpid: ALPHA, name: 'cause' }])
  writer.spans('two', [
    {
      trace: 2,
      id: 21,
      cpid: ALPHA,
      name: 'effect',
      links: [
        { trace: 1, id: 11 },
        { trace: 7, id: 71 },
      ],
    },
  ])
  writer.link()
  const effect = writer.sent().find((span) => span.name === 'effect')
  expect(effect?.links.map((link) => link.traceId)).toEqual([traceOf(ALPHA), hexTrace(7)])
})

test('links: a mergelog stored while the wait for it ends enters once', async () => {
  using writer = await TestWriter.open({ linking: { mode: 'links' } })
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('endpoints', [{ trace: 2, id: 21, cpid: GAMMA, name: 'update' }])
  writer.link()
  writer.clock.advance(10_001)
  writer.mergelogs('endpoints', [{ new: GAMMA, sources: [ALPHA], time: 1 }])
  writer.writer.linking.expire(100)
  writer.link()
  expect(writer.sent().map((span) => span.name)).toEqual(['change', 'update', 'merge', 'merged into'])
})
