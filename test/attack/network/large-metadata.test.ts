import { test } from '@jest/globals'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { markerSpan } from '../../process/support/marker-span.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const ATTACKERS = 20
const FOR_MS = 4_000
/** More than Node takes at all, and as much as it takes. */
const SIZES = [60_000, 14_000]

leaveNothingBehind()

test('calls with as much metadata as there can be', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Array.from({ length: ATTACKERS }, async (_, at) => {
        using sender = new GrpcSender(ports.grpc)
        const headers = { 'x-large': 'y'.repeat(SIZES[at % SIZES.length] ?? 0) }
        while (!signal.aborted) await sender.export('traces', markerSpan('attack').bytes, headers)
      })
      await Promise.all(attackers)
    },
    { what: 'large metadata', longestMs: FOR_MS },
  )
})
