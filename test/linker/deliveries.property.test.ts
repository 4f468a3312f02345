import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../support/deliveries/drawn-cascade.ts'
import { Judge } from '../support/deliveries/judge.ts'

const M = (process.env['MODES'] ?? 'cascade,links,passthrough').split(',') as ('cascade' | 'links' | 'passthrough')[]
const N = Number(process.env['N'] ?? 100)
test.each(M)('%s: however a cascade is sent, backends hold the same in the end, but for what `wait` allows', async (mode) => {
  using judge = new Judge(mode)
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectDelivered(sketch, step))
  await fc.assert(holds, { numRuns: N })
  expect.hasAssertions()
})
