import { expect, test } from '@jest/globals'
import type { Cascade } from '../../src/query/answer-schemas.ts'
import { cpid, hexSpan, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id } from './asking.ts'

const ALPHA = cpid(1)
const UNKNOWN = { 'cpid.observed': ['v1/secrets/default/unknown?rv=7'] }

const PARENT: SpanSketch = { trace: 1, id: 10, cpid: ALPHA, attributes: UNKNOWN }
const CHILD: SpanSketch = { trace: 1, id: 11, parent: 10 }
const GRANDCHILD: SpanSketch = { trace: 1, id: 12, parent: 11 }

/** Ids of spans with this CPID, as the API answers them. */
function spansOf(writer: TestWriter, number = 1): string[] {
  const { resourceSpans } = ask<{
    resourceSpans: { scopeSpans: { spans: { spanId: string }[] }[] }[]
  }>(writer, { kind: 'spans', cpid: id(number), part: {} })
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(({ spanId }) => spanId)))
    .sort()
}

/** Ids of those in the cascade that are being placed. */
function beingPlaced(writer: TestWriter): string[] {
  const { traces } = ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
  const spans = traces.flatMap((trace) => trace.spans)
  return spans.flatMap(({ spanId, beingPlaced }) => (beingPlaced === true ? spanId : [])).sort()
}

const ids = (...spans: SpanSketch[]): string[] => spans.map((span) => hexSpan(span.id)).sort()

async function begun(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.link()
  return writer
}

test.each([
  ['is linked', true],
  ['is not linked yet', false],
])(
  'what came before its parent is shown from the next answer on, once that has come and %s',
  async (_, isLinked) => {
    using writer = await begun()
    writer.spans('controller', [GRANDCHILD, CHILD])
    writer.pass(1_000)
    expect(spansOf(writer)).toEqual([])
    writer.spans('controller', [PARENT])
    if (isLinked) writer.link()
    expect(spansOf(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
    expect(beingPlaced(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
  },
)

test('what is not linked yet is in its cascade, being placed', async () => {
  using writer = await begun()
  writer.spans('controller', [GRANDCHILD, CHILD, PARENT])
  expect(spansOf(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
  expect(beingPlaced(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
})

test('what waits with its parent for a mergelog is shown with it', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', [GRANDCHILD, CHILD, PARENT])
  writer.link()
  expect(spansOf(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
})

test('what was sent unattributed is shown again as soon as its parent is there, though that waits', async () => {
  using writer = await begun()
  writer.spans('controller', [GRANDCHILD, CHILD])
  writer.pass(10_000)
  writer.pass(10_000)
  expect(spansOf(writer)).toEqual([])
  writer.spans('controller', [PARENT])
  writer.link()
  expect(spansOf(writer)).toEqual(ids(PARENT, CHILD, GRANDCHILD))
})

test('a span with a malformed cpid.id is of no CPID, linked or not', async () => {
  using writer = await begun()
  writer.spans('controller', [{ ...CHILD, cpid: 'not-a-uuid' }, PARENT])
  expect(spansOf(writer)).toEqual(ids(PARENT))
  writer.link()
  expect(spansOf(writer)).toEqual(ids(PARENT))
})
