import { expect, test } from '@jest/globals'
import { cpid, spansRequest } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

const CPIDS = 40
const MISSING = 1_024
const LATE = 500
const [FEW_SPANS, MANY_SPANS] = [5, 150]
/** It was 19 where each late mergelog looked at all spans below it. */
const TIMES = 3

/** Microseconds of CPU time that late mergelogs take which change nothing for the spans below them. */
async function costOfLate(spansOfEach: number): Promise<number> {
  using writer = await TestWriter.open()
  const missing = Array.from({ length: MISSING }, (_, at) => cpid(10_000 + at))
  const below = Array.from({ length: CPIDS }, (_, at) => cpid(100 + at))
  writer.mergelogs('a', [{ new: cpid(1), sources: missing }])
  writer.mergelogs(
    'a',
    below.map((one) => ({ new: one, sources: [cpid(1)] })),
  )
  for (const [at, one] of below.entries()) {
    const spans = Array.from({ length: spansOfEach }, (_, id) => ({ trace: at + 1, id: id + 1, cpid: one }))
    writer.ingest('traces', spansRequest('a', spans))
  }
  writer.pass(11_000)
  let arrived = 0
  const arrive = (count: number): void => {
    const late = missing.slice(arrived, (arrived += count))
    writer.mergelogs(
      'a',
      late.map((one, at) => ({ new: one, sources: [cpid(20_000 + arrived + at)] })),
    )
    writer.pass(11_000)
  }
  arrive(1)
  const before = process.cpuUsage()
  arrive(LATE)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

test('late mergelogs that change nothing for the spans below them cost as much, however many spans there are', async () => {
  await costOfLate(FEW_SPANS)
  const few = await costOfLate(FEW_SPANS)
  expect(await costOfLate(MANY_SPANS)).toBeLessThan(TIMES * few)
})
