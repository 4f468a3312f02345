import { test, expect } from '@jest/globals'
import { TRACEABILITY } from '../../lab/evaluation/traceability-data.ts'

test.each(TRACEABILITY.map((row) => [row.change, row] as const))('%s', async (_, { traced, find }) => {
  const finding = await find()
  expect(finding).toMatchSnapshot()
  expect(finding.reached.length + finding.missed.length).toBeGreaterThan(0)
  const isWhole = finding.missed.length === 0 && finding.wronglyTied.length === 0
  expect(traced).toBe(isWhole ? 'yes' : finding.reached.length === 0 ? 'no' : 'partly')
})
