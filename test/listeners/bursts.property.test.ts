import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { HTTP_SERVER_TIMEOUTS, listen } from '../../src/platform/http-listener.ts'
import { connectingClient, fetchingClient, keepingClient } from './support/bursting-clients.ts'

/** What the metrics and the health check have, which is the least of all listeners. */
const LIMITS = { max: 64, maxPerAddress: 32 }
const RUNS = process.env['CAUSEWAY_ATTACK'] === undefined ? 10 : 100
const LONGEST_MS = 120_000

const bursts = fc.array(
  fc.record({
    client: fc.integer({ min: 0, max: 3 }),
    size: fc.integer({ min: 1, max: 60 }),
    /** How long nobody asks after it; undefined where the next one begins at once. */
    restMs: fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined }),
  }),
  { minLength: 2, maxLength: 8 },
)

test(
  'bursts of clients at one address lose no request: each is answered, or refused with what to do',
  async () => {
    await fc.assert(
      fc.asyncProperty(bursts, async (some) => {
        const server = createServer(HTTP_SERVER_TIMEOUTS, (_, response) => {
          setTimeout(() => response.end('x'), 1)
        })
        const purpose = { what: 'the test', setting: 'none', connections: LIMITS }
        await using listening = await listen(server, { host: '127.0.0.1', port: 0 }, purpose)
        const { port } = listening
        const clients = [fetchingClient(), keepingClient(), keepingClient(), connectingClient()]
        try {
          const answers: Promise<number | string>[] = []
          let underWay = 0
          for (const { client, size, restMs } of some) {
            const before = underWay
            const asked = Array.from({ length: size }, () => {
              underWay++
              return clients[client]!.ask(port).finally(() => underWay--)
            })
            answers.push(...asked)
            if (before + size <= LIMITS.maxPerAddress)
              expect(await Promise.all(asked)).toEqual(asked.map(() => 200))
            if (restMs !== undefined) {
              await Promise.all(answers)
              await pause(restMs)
            }
          }
          const unexpected = (await Promise.all(answers)).filter((one) => one !== 200 && one !== 503)
          expect(unexpected).toEqual([])
        } finally {
          for (const client of clients) client[Symbol.dispose]()
        }
      }),
      { numRuns: RUNS },
    )
  },
  LONGEST_MS,
)
