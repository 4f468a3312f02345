import { test } from '@jest/globals'
import { checkForgotten } from '../../support/forgotten-tombstones.ts'

test.each(['cascade', 'links', 'passthrough'] as const)(
  '%s: however few tombstones are kept, no span goes into a trace again with other content',
  async (mode) => {
    await checkForgotten(mode, 100)
  },
)
