import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const DEPLOYMENT = 'apps/v1/deployments/default/web'
const REPLICASET = 'apps/v1/replicasets/default/web-1'
const POD = 'v1/pods/default/web-1-x'

interface Step {
  service: string
  span: SpanSketch
}

/** kubectl → deployment controller → replicaset controller → scheduler, each in an original trace of its own. */
const CHAIN: Step[] = [
  { service: 'kubectl', span: reconcile(1, { wrote: [`${DEPLOYMENT}?uid=d&rv=10`] }) },
  {
    service: 'deployment-controller',
    span: reconcile(2, { observed: [`${DEPLOYMENT}?uid=d&rv=10`], wrote: [`${REPLICASET}?uid=r&rv=11`] }),
  },
  {
    service: 'replicaset-controller',
    span: reconcile(3, { observed: [`${REPLICASET}?uid=r&rv=11`], wrote: [`${POD}?uid=p&rv=12`] }),
  },
  {
    service: 'scheduler',
    span: reconcile(4, { observed: [`${POD}?uid=p&rv=12`], wrote: [`${POD}?uid=p&rv=13`] }),
  },
]

function reconcile(
  number: number,
  { observed, wrote }: { observed?: string[]; wrote?: string[] },
): SpanSketch {
  return {
    trace: number,
    id: number,
    cpid: ALPHA,
    start: number * 10,
    end: number * 10 + 5,
    attributes: {
      ...(observed !== undefined && { 'cpid.observed': observed }),
      ...(wrote !== undefined && { 'cpid.wrote': wrote }),
    },
  }
}

const NESTED = [
  'change @kubectl',
  '  span 1 @kubectl',
  '    span 2 @deployment-controller',
  '      span 3 @replicaset-controller',
  '        span 4 @scheduler',
].join('\n')

async function begun(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  return writer
}

test('in any order of arrival the cascade nests by cause', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(CHAIN, { minLength: CHAIN.length }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      async (order, linkAfter) => {
        using writer = await begun()
        order.forEach(({ service, span }, at) => {
          writer.spans(service, [span])
          if (linkAfter[at] === true) writer.link()
        })
        writer.link()
        const sent = writer.sent()
        const lines = drawTrace(sent, traceOf(ALPHA)).split('\n')
        expect(lines).toEqual(NESTED.split('\n'))
        expectSoundTraces(sent)
      },
    ),
    { numRuns: 60 },
  )
})

test('a span waits for the writer of exactly what it observed, then hangs under the change span', async () => {
  using writer = await begun()
  writer.spans('deployment-controller', [CHAIN[1]!.span])
  writer.pass(9_000)
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe('change @kubectl')
  writer.pass(1_001)
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe('change @kubectl\n  span 2 @deployment-controller')
})

test('what is never written is waited for once', async () => {
  using writer = await begun()
  const observed = { 'cpid.observed': [`${POD}?rv=99`] }
  writer.spans('one', [{ trace: 1, id: 1, cpid: ALPHA, attributes: observed }])
  writer.pass(10_001)
  writer.spans('two', [{ trace: 2, id: 2, cpid: ALPHA, attributes: observed }])
  writer.link()
  expect(writer.sent().map((span) => span.name)).toEqual(['change', 'span 1', 'span 2'])
})

test.each([
  ['another uid', `${DEPLOYMENT}?uid=other&rv=10`],
  ['a later version', `${DEPLOYMENT}?uid=d&rv=9`],
  ['no version', `${DEPLOYMENT}?uid=d`],
  ['a version that is no integer', `${DEPLOYMENT}?uid=d&rv=abc`],
  ['another object', 'apps/v1/deployments/default/other?rv=10'],
  ['no object at all', '???'],
])('%s is no cause', async (_, observed) => {
  using writer = await begun()
  writer.spans('kubectl', [CHAIN[0]!.span])
  writer.spans('controller', [reconcile(2, { observed: [observed] })])
  writer.pass(10_001)
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  span 1 @kubectl\n  span 2 @controller',
  )
})

/** What hangs above the span of the service `observer`. */
function parentOfObserver(writer: TestWriter): string | undefined {
  const sent = writer.sent()
  const above = sent.find((span) => span.service === 'observer')?.parentSpanId
  return sent.find((span) => span.spanId === above)?.service
}

test('the writer of the highest version at or below the observed one wins, versions compared as integers', async () => {
  using writer = await begun()
  writer.spans('highest', [{ ...reconcile(1, { wrote: [`${POD}?rv=10`] }), end: 12 }])
  writer.spans('ends last', [{ ...reconcile(2, { wrote: [`${POD}?rv=9`] }), end: 90 }])
  writer.spans('too high', [reconcile(3, { wrote: [`${POD}?rv=101`] })])
  writer.spans('observer', [reconcile(4, { observed: [`${POD}?rv=100`] })])
  writer.pass(10_001)
  expect(parentOfObserver(writer)).toBe('highest')
})

test('of an object observed twice the higher version counts', async () => {
  using writer = await begun()
  writer.spans('higher', [{ ...reconcile(1, { wrote: [`${POD}?rv=10`] }), end: 12 }])
  writer.spans('lower', [{ ...reconcile(2, { wrote: [`${POD}?rv=9`] }), end: 90 }])
  writer.spans('observer', [reconcile(4, { observed: [`${POD}?rv=9`, `${POD}?rv=10`] })])
  writer.link()
  expect(parentOfObserver(writer)).toBe('higher')
})

test('among the writers of one version, and among several objects, the one ending last wins', async () => {
  using writer = await begun()
  writer.spans('first', [{ ...reconcile(1, { wrote: [`${POD}?rv=10`] }), end: 60 }])
  writer.spans('second', [{ ...reconcile(2, { wrote: [`${POD}?rv=10`] }), end: 70 }])
  writer.spans('other object', [{ ...reconcile(3, { wrote: [`${REPLICASET}?rv=900`] }), end: 50 }])
  writer.spans('observer', [reconcile(4, { observed: [`${POD}?rv=10`, `${REPLICASET}?rv=900`] })])
  writer.link()
  expect(parentOfObserver(writer)).toBe('second')
})

test('a version written by an object of another uid is passed over', async () => {
  using writer = await begun()
  writer.spans('own', [reconcile(1, { wrote: [`${POD}?uid=a&rv=9`] })])
  writer.spans('foreign', [reconcile(2, { wrote: [`${POD}?uid=b&rv=10`] })])
  writer.spans('observer', [reconcile(4, { observed: [`${POD}?uid=a&rv=11`] })])
  writer.pass(10_001)
  expect(parentOfObserver(writer)).toBe('own')
})

test('the same object in another cluster is another object', async () => {
  using writer = await begun()
  writer.spans('kubectl', [CHAIN[0]!.span], 'east')
  writer.spans('controller', [CHAIN[1]!.span], 'west')
  writer.pass(10_001)
  const sent = writer.sent()
  expect(sent.find((span) => span.service === 'controller')?.parentSpanId).toBe(
    sent.find((span) => span.name === 'change')?.spanId,
  )
})

test('two spans that observed each other’s writes make no loop', async () => {
  using writer = await begun()
  writer.spans('one', [reconcile(1, { observed: [`${POD}?rv=2`], wrote: [`${REPLICASET}?rv=1`] })])
  writer.spans('two', [reconcile(2, { observed: [`${REPLICASET}?rv=1`], wrote: [`${POD}?rv=2`] })])
  writer.pass(10_001)
  writer.pass(1)
  const sent = writer.sent()
  expect(sent.length).toBe(3)
  expectSoundTraces(sent)
})

test('a chain of causes stops at a depth of 256', async () => {
  using writer = await begun()
  for (let at = 1; at <= 400; at++) {
    writer.spans('loop', [reconcile(at, { observed: [`${POD}?rv=${at}`], wrote: [`${POD}?rv=${at + 1}`] })])
    if (at === 1) writer.pass(10_001)
  }
  writer.pass(10_001)
  const lines = drawTrace(writer.sent(), traceOf(ALPHA)).split('\n')
  expect(lines.length).toBe(401)
  expect(Math.max(...lines.map((line) => (/^ */.exec(line)?.[0].length ?? 0) / 2))).toBeLessThanOrEqual(257)
})

test('a span waits for its writer though its CPID is explained by mergelogs that come together', async () => {
  using writer = await TestWriter.open()
  const [first, merged] = [cpid(1), cpid(2)]
  writer.spans('observer', [{ ...reconcile(2, { observed: [`${POD}?rv=10`] }), cpid: merged }])
  writer.link()
  writer.mergelogs('merger', [{ new: merged, sources: [first] }])
  writer.mergelogs('kubectl', [{ new: first }])
  writer.link()
  writer.spans('writer', [{ ...reconcile(1, { wrote: [`${POD}?rv=10`] }), cpid: first }])
  writer.link()
  expect(parentOfObserver(writer)).toBe('writer')
})

test('a cause below a parent that waits, and that will hang below the span itself, is none', async () => {
  using writer = await TestWriter.open()
  const reads = { 'cpid.observed': [`${POD}?rv=1`] }
  writer.spans('controller', [
    { trace: 1, id: 1, parent: 2, cpid: ALPHA, attributes: { 'cpid.wrote': [`${POD}?rv=1`] } },
    { trace: 1, id: 2, parent: 3 },
  ])
  writer.spans('other', [
    { trace: 2, id: 4, cpid: ALPHA, attributes: { ...reads, 'cpid.wrote': [`${POD}?rv=1`] } },
  ])
  writer.spans('controller', [{ trace: 1, id: 3, cpid: ALPHA, attributes: reads }])
  writer.pass(31_000)
  expectSoundTraces(writer.sent())
})
