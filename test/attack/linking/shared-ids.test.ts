import { expect, test } from '@jest/globals'
import { TestWriter } from '../../support/test-writer.ts'

const SPANS = 100
const BYTES = 200_000
/** It was 13 to 20 where each was compared with up to 64 others. */
const TIMES = 4

/** Milliseconds of CPU time that it takes to store and link large spans, the least of three. */
async function leastMs(idOf: (at: number) => number): Promise<number> {
  return Math.min(await costMs(idOf), await costMs(idOf), await costMs(idOf))
}

async function costMs(idOf: (at: number) => number): Promise<number> {
  using writer = await TestWriter.open()
  const text = 'x'.repeat(BYTES)
  const before = process.cpuUsage()
  for (let at = 0; at < SPANS; at++) {
    writer.spans('a', [{ trace: 1, id: idOf(at), attributes: { text: `${text} ${at}` } }])
    writer.link()
  }
  const { user, system } = process.cpuUsage(before)
  expect(writer.rows('spans')).toBe(SPANS)
  return (user + system) / 1_000
}

test('large spans that share their ids and differ in one byte cost little more than others', async () => {
  await costMs((at) => at + 1)
  const ordinary = await leastMs((at) => at + 1)
  expect(await leastMs(() => 1)).toBeLessThan(TIMES * ordinary)
})
