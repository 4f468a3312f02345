import { expect, test } from '@jest/globals'
import { collectGarbage } from '../../src/platform/collect-garbage.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const CASCADES = 1_000
const BATCH = 5
const MIB = 2 ** 20

test('a cached trace keeps no more memory than its own', async () => {
  using writer = await TestWriter.open()
  const before = await heldBytes()
  for (let first = 1; first <= CASCADES; first += BATCH) {
    const roots = Array.from({ length: BATCH }, (_, at) => ({ new: cpid(first + at) }))
    writer.mergelogs('kubectl', roots)
    writer.spans(
      'web',
      roots.map((root, at) => ({ trace: first + at, id: first + at, cpid: root.new })),
    )
    writer.link()
    // What else a thread does needs small buffers too, so that the next ids are cut out of others.
    for (let other = 0; other < 2 * BATCH; other++) Buffer.allocUnsafe(Buffer.poolSize / 4)
  }
  expect((await heldBytes()) - before).toBeLessThan(4 * MIB)
})

/** What buffers hold that are not garbage; what a collection finds free is given back a little later. */
async function heldBytes(): Promise<number> {
  let least = Infinity
  for (let look = 0; look < 5; look++) {
    collectGarbage()
    await new Promise((resolve) => setImmediate(resolve))
    least = Math.min(least, process.memoryUsage().arrayBuffers)
  }
  return least
}
