import { expect, test } from '@jest/globals'
import { sleep } from '../../src/exporter/open-transport.ts'

const LONGEST_MS = 2 ** 31 - 1

test('an abort ends it at once, whether it comes before or after', async () => {
  const stop = new AbortController()
  const sleeping = sleep(LONGEST_MS, stop.signal)
  stop.abort()
  await expect(sleeping).resolves.toBeUndefined()
  await expect(sleep(LONGEST_MS, stop.signal)).resolves.toBeUndefined()
})

test('ends by itself', async () => {
  await expect(sleep(0, new AbortController().signal)).resolves.toBeUndefined()
})
