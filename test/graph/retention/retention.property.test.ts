import { test } from '@jest/globals'
import fc from 'fast-check'
import { lives } from './drawn-life.ts'
import { live } from './world.ts'

// npm run test:retention does that for as long as it is told to.
test('whatever comes, whatever fails and however little may stay: nothing held goes, and in the end all is given back', async () => {
  await fc.assert(fc.asyncProperty(lives, live), { numRuns: 60, interruptAfterTimeLimit: 10_000 })
})
