import { expect, test } from '@jest/globals'
import { SlowBodyWatch } from '../../src/receiver/request-body.ts'

const NEVER_MS = 3_600_000

test('a body of which a kilobyte comes between two looks goes on, another ends', () => {
  using pace = new SlowBodyWatch(NEVER_MS)
  const ended: string[] = []
  const slow = pace.begin(() => ended.push('slow'))
  const fair = pace.begin(() => ended.push('fair'))
  pace.check()
  slow.receivedBytes += 1_023
  fair.receivedBytes += 1_024
  pace.check()
  expect(ended).toEqual(['slow'])
  pace.check()
  expect(ended).toEqual(['slow', 'fair'])
  pace.check()
  expect(ended).toEqual(['slow', 'fair'])
})

test('one that has just begun has until the look after the next, and one that has ended is left alone', () => {
  using pace = new SlowBodyWatch(NEVER_MS)
  const ended: string[] = []
  pace.begin(() => ended.push('first'))
  pace.end(pace.begin(() => ended.push('over')))
  pace.check()
  expect(ended).toEqual([])
  pace.check()
  expect(ended).toEqual(['first'])
})
