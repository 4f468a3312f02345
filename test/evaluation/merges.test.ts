import { describe, expect, test } from '@jest/globals'
import { avoidablePart, CRITERIA, FLOOR } from '../../lab/evaluation/merges/criteria.ts'
import { DEPLOYMENTS } from '../../lab/evaluation/merges/paper.ts'
import { countAt } from '../../lab/evaluation/merges/measure.ts'
import { VARIANTS } from '../../lab/evaluation/merges/variants.ts'

const SEEDS = [101, 102]

describe.each(SEEDS)('five Deployments scaled in turn (section 5.1.2), seed %i', (seed) => {
  test('come down to seven merges each, as fast as the criteria ask', async () => {
    const atZero = await countAt(0, seed)
    expect(atZero.merges).toBeGreaterThan(3 * FLOOR)
    // Eight steps, the creation among them.
    expect(atZero.roots).toBe(8 * DEPLOYMENTS)
    for (const { limit, atMost } of CRITERIA) {
      const { merges } = await countAt(limit, seed)
      expect(merges).toBeGreaterThanOrEqual(FLOOR)
      expect(avoidablePart(merges, atZero.merges)).toBeLessThanOrEqual(atMost)
    }
  })
})

test('more ancestors never cost a merge', async () => {
  const counts: number[] = []
  for (const limit of [0, 1, 2, 3, 5, 10, 15]) counts.push((await countAt(limit, 103)).merges)
  expect(counts).toEqual([...counts].sort((one, other) => other - one))
})

test.each(VARIANTS.filter(({ isComparable }) => isComparable))('the floor stays: $name', async (variant) => {
  expect((await countAt(15, 104, variant)).merges).toBe(FLOOR)
})
