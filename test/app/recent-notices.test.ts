import { expect, test } from '@jest/globals'
import { NoticeLimiter } from '../../src/app/rate-limited-logs.ts'

const MINUTE_MS = 60_000

test('the same is told once a minute', () => {
  let nowMs = 0
  const told = new NoticeLimiter(() => nowMs)
  expect([told.isNew('one'), told.isNew('one'), told.isNew('other')]).toEqual([true, false, true])
  nowMs += MINUTE_MS
  expect([told.isNew('one'), told.isNew('one')]).toEqual([true, false])
})

test('however different they are, no more than a hundred are told in a minute', () => {
  let nowMs = 0
  const told = new NoticeLimiter(() => nowMs)
  const telling = (): number =>
    Array.from({ length: 1_000 }, (_, at) => told.isNew(`${nowMs} ${at}`)).filter(Boolean).length
  expect([telling(), telling()]).toEqual([100, 0])
  nowMs += MINUTE_MS
  expect(telling()).toBe(100)
})
