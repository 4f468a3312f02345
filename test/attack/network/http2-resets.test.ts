import { test } from '@jest/globals'
import { callFrame, RawHttp2, resetFrame } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const ATTACKERS = 20
const RESETS_IN_A_ROW = 500
const FOR_MS = 3_000

leaveNothingBehind()

function* rapidResets(): Generator<Buffer> {
  for (let at = 0; at < RESETS_IN_A_ROW; at++)
    yield Buffer.concat([callFrame(2 * at + 1), resetFrame(2 * at + 1)])
}

test('streams that are reset as soon as they are opened, on connection after connection', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Array.from({ length: ATTACKERS }, async () => {
        while (!signal.aborted) {
          using raw = await RawHttp2.to(ports.grpc)
          await raw.flood(rapidResets())
        }
      })
      await Promise.all(attackers)
    },
    { what: 'rapid resets', longestMs: FOR_MS },
  )
})
