import { Worker } from 'node:worker_threads'
import { expect, test } from '@jest/globals'

const MODULE = new URL('../../src/exporter/backend-replies.ts', import.meta.url)
/** A reply has 4 MiB at most; an object for each of its fields would have some 200. */
const HEAP_MIB = 48

/** Runs an expression, in which `replies` is the module and `filled` makes 4 MiB of some bytes, with so small a heap. */
async function within(expression: string): Promise<unknown> {
  const code = `
const { parentPort } = require('node:worker_threads')
const filled = (...bytes) => Buffer.alloc(4 * 2 ** 20, Buffer.from(bytes))
import(${JSON.stringify(MODULE.href)}).then((replies) => parentPort.postMessage(${expression}))`
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const worker = new Worker(code, { eval: true, resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB } })
  worker.on('message', resolve).on('error', reject)
  try {
    return await promise
  } finally {
    await worker.terminate()
  }
}

const DELIVERED = { kind: 'delivered', refused: 0, message: '' }

test.each([
  ['numbers', 'replies.outcomeOfReply(filled(0x10, 0))', DELIVERED],
  ['empty partial successes', 'replies.outcomeOfReply(filled(0x0a, 0))', DELIVERED],
  ['empty messages of a status', 'replies.readRpcStatus(filled(0x12, 0))', { message: '' }],
  ['empty details of a status', 'replies.readRpcStatus(filled(0x1a, 0))', { message: '' }],
])('a reply of two million %s is read one by one', async (_, expression, outcome) => {
  expect(await within(expression)).toEqual(outcome)
})
