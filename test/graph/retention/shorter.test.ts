import { expect, test } from '@jest/globals'
import type { Life } from './life.ts'
import { shorter } from './shorter.ts'

const PASSES: Life['steps'] = Array.from({ length: 40 }, (_, ms) => ({ kind: 'pass', ms, works: true }))

/** Fails as long as it lets these times go by, in whichever order. */
const failsWith =
  (...needed: number[]) =>
  async ({ steps }: Life): Promise<Error | undefined> => {
    const passed = new Set(steps.map((step) => (step.kind === 'pass' ? step.ms : -1)))
    return needed.every((ms) => passed.has(ms)) ? new Error(`row ${steps.length} is lost`) : undefined
  }

const LIFE = { steps: PASSES, endsAnew: false } as Life

test('what is left of a life that fails are the steps without which it does not', async () => {
  const faultOf = failsWith(3, 17, 39)
  const least = await shorter(LIFE, new Error('row 40 is lost'), faultOf, () => true)
  expect(least.steps.map((step) => step.kind === 'pass' && step.ms)).toEqual([3, 17, 39])
})

test('a life is made shorter no longer than there is time, and not into one that fails for another reason', async () => {
  let looks = 3
  const faultOf = failsWith(3)
  const hasTime = (): boolean => looks-- > 0
  expect((await shorter(LIFE, new Error('row 1 is lost'), faultOf, hasTime)).steps.length).toBeLessThan(40)
  const other = await shorter(LIFE, new Error('something else'), faultOf, () => true)
  expect(other.steps).toHaveLength(40)
})
