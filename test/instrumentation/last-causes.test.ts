import { expect, test } from '@jest/globals'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { type LastChange, Work } from '../../packages/instrumentation/src/kubernetes/work.ts'
import { cpid } from '../support/otlp-requests.ts'

const MOST = 16_384
const by = createInstrumentation()
const context = (number: number) => ({ cpid: cpid(number), ancestors: [] })

/** A reconcile that reads these and writes; what it wrote for, what of it was new, and what is kept of that. */
function reconciled(last: LastChange | undefined, reads: readonly number[], change: number) {
  const work = new Work(last)
  for (const number of reads) work.follow(context(number))
  if (last !== undefined) work.follow(last.context)
  const causes = work.causes()
  work.wrote(work.planned(causes, by, () => context(change)))
  return { named: causes.map((one) => one.cpid), last: work.last!, forgotten: work.forgotten }
}

test('what the last change of a key comes from is bounded and counted, and what is read each time is kept', () => {
  const [rounds, each] = [50, 1_000]
  let last: LastChange | undefined
  let forgotten = 0
  for (let round = 0; round < rounds; round++) {
    const first = 2 + round * (each + 1)
    const reads = Array.from({ length: each }, (_, at) => first + at)
    const next = reconciled(last, [1, ...reads], first + each)
    if (round > 0) expect(next.named).not.toContain(cpid(1))
    last = next.last
    forgotten += next.forgotten
  }
  expect(last?.causes.size).toBe(MOST)
  expect(forgotten).toBe(rounds * (each + 1) - MOST)
})

test('what one reconcile reads is kept, however much it is', () => {
  const reads = Array.from({ length: MOST + 1_000 }, (_, at) => at + 2)
  const { last } = reconciled(undefined, reads, 1)
  expect(reconciled(last, reads, 1).named).toEqual([cpid(1)])
})
