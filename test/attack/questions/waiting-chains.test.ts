import { expect, test } from '@jest/globals'
import { ask, id } from '../../query/asking.ts'
import { cpid, spansRequest, type SpanSketch } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

/** More than the 256 ancestors that it had been. */
const SPANS = 300
/** With 256 a question about a long chain took more than 80 times as long as one about as many spans without a chain. */
const MOST_ANCESTORS = 32

interface Groups {
  resourceSpans: { scopeSpans: { spans: unknown[] }[] }[]
}

test('of a long chain of spans that wait, a question looks at no more than 32 ancestors of each', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  const chain = Array.from({ length: SPANS }, (_, at): SpanSketch => ({
    trace: 1,
    id: at + 2,
    parent: at + 1,
  }))
  writer.ingest('traces', spansRequest('a', [{ trace: 1, id: 1, cpid: cpid(1) }, ...chain]))
  const question = { kind: 'spans', cpid: id(1), part: { limit: SPANS } } as const
  const { resourceSpans } = ask<Groups>(writer, question)
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  expect(spans).toHaveLength(1 + MOST_ANCESTORS)
})
