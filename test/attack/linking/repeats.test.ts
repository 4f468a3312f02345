import { test } from '@jest/globals'
import { checkRepeats } from '../../support/repeats-encoded-otherwise.ts'

test.each(['traces', 'logs'] as const)(
  '%s: what is sent again, batched and encoded otherwise, is stored, shown and sent once, and all that differs is kept',
  async (signal) => {
    await checkRepeats(signal, 150)
  },
)
