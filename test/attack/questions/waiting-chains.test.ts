import { expect, test } from '@jest/globals'
import { ask, id } from '../../query/asking.ts'
import { cpid, type SpanSketch } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

const SPANS = 4_000
/** It was more than 80 where 256 ancestors of each span were looked at, and is 15 to 25. */
const TIMES = 50
const ABSENT = 5

/** Milliseconds of CPU time for the spans of a CPID, beside many in its original trace that wait for their parents. */
async function costMs(parentOf: (span: number) => number): Promise<number> {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  const waiting = Array.from({ length: SPANS }, (_, at): SpanSketch => {
    const span = ABSENT + 1 + at
    return { trace: 1, id: span, parent: parentOf(span) }
  })
  writer.spans('a', [{ trace: 1, id: 1, cpid: cpid(1) }, ...waiting])
  writer.link()
  expect(writer.rows('waiting')).toBeGreaterThanOrEqual(SPANS)
  const askMs = (): number => {
    const before = process.cpuUsage()
    ask(writer, { kind: 'spans', cpid: id(1), part: {} })
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  return Math.min(...Array.from({ length: 5 }, askMs))
}

test('a long chain of spans that wait costs questions a fixed multiple of what others that wait cost', async () => {
  const flat = await costMs(() => ABSENT)
  expect(await costMs((span) => span - 1)).toBeLessThan(TIMES * flat)
})
