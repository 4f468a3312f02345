import { expect, test } from '@jest/globals'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { sentSpans, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

/** More than a round looks at. */
const DEEP = 6_000

test('a span far below a missing mergelog leaves when all above it is found, which stops no other span', async () => {
  using writer = await TestWriter.open()
  const chain = Array.from({ length: DEEP }, (_, at) => ({ new: cpid(at + 2), sources: [cpid(at + 1)] }))
  writer.mergelogs('controller', chain)
  writer.pass(10_001)
  const after = writer.reopened()
  after.spans('deep', [{ trace: 1, id: 11, cpid: cpid(DEEP + 1) }])
  after.mergelogs('other', [{ new: cpid(9_000) }])
  after.spans('other', [{ trace: 2, id: 22, cpid: cpid(9_000) }])
  const traceOfSpan = (id: number): string | undefined =>
    sentSpans(writer.db).find(({ spanId }) => spanId === hexSpan(id))?.traceId
  after.link()
  expect([traceOfSpan(11), traceOfSpan(22)]).toEqual([undefined, traceOf(cpid(9_000))])
  for (let looks = 0; looks < 30; looks++) after.pass(1_000)
  expect(traceOfSpan(11)).toBe(traceOf(cpid(1)))
})
