import { expect, test } from '@jest/globals'
import { corpusOf, fuzz } from './fuzz-target.ts'
import { TARGETS } from './targets.ts'

/** The slower ones. */
const RUNS = new Map([
  ['store', 12],
  ['stored-bytes', 30],
  ['config', 40],
  ['compressed-bodies', 100],
])
const MANY = 300

test.each(TARGETS)('$name stands mutations of valid input', async (target) => {
  const most = RUNS.get(target.name) ?? MANY
  const { failures, executions } = await fuzz(target, { seed: 1, goesOn: (done) => done < most })
  expect(failures.map(({ message }) => message)).toEqual([])
  expect(executions).toBeGreaterThanOrEqual(most)
})

test.each(
  TARGETS.flatMap((target) => corpusOf(target.name).map((entry) => ({ target, ...entry, of: target.name }))),
)('$of stands $name, which failed once', async ({ target, input }) => {
  await target.run(input)
})
