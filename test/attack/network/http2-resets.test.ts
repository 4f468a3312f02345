import { test } from '@jest/globals'
import { rapidResets } from '../../../lab/harness/clients/http2-floods.ts'
import { RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const ATTACKERS = 20
const RESETS_IN_A_ROW = 500
const FOR_MS = 3_000

leaveNothingBehind()

test.each(['grpc', 'query'] as const)(
  'streams to the %s port that are reset as soon as they are opened, on connection after connection',
  async (port) => {
    await using causeway = await AttackedCauseway.start()
    await causeway.withstands(
      async ({ ports }, signal) => {
        const attackers = Array.from({ length: ATTACKERS }, async () => {
          while (!signal.aborted) {
            using raw = await RawHttp2.to(ports[port])
            await raw.flood(rapidResets(port, RESETS_IN_A_ROW))
          }
        })
        await Promise.all(attackers)
      },
      { what: `rapid resets at ${port}`, longestMs: FOR_MS },
    )
  },
)
