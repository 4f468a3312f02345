import { test } from '@jest/globals'
import { RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const AT_A_TIME = 200
const HELD = 1_024
const FOR_MS = 6_000
/** Several attackers, each within what one address may have. */
const ADDRESSES = Array.from({ length: 8 }, (_, at) => `127.0.1.${at + 1}`)

leaveNothingBehind()

test('more connections over HTTP/2 than there may be, none of which shows a credential', async () => {
  const auth = { authenticator: 'bearertokenauth' }
  await using causeway = await AttackedCauseway.start({
    patch: {
      extensions: { bearertokenauth: { token: 'right' } },
      receivers: { otlp: { protocols: { grpc: { auth } } } },
    },
    victim: { headers: { authorization: 'Bearer right' } },
  })
  await causeway.withstands(
    async ({ ports }, signal) => {
      const held = new Set<RawHttp2>()
      let next = 0
      const hold = async (): Promise<void> => {
        const raw = await RawHttp2.to(ports.grpc, ADDRESSES[next++ % ADDRESSES.length])
        held.add(raw)
        void raw.closed.then(() => held.delete(raw))
      }
      while (!signal.aborted) {
        const more = Math.min(AT_A_TIME, HELD - held.size)
        await Promise.allSettled(Array.from({ length: more }, hold))
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      for (const raw of held) raw[Symbol.dispose]()
    },
    { what: 'strangers over HTTP/2', longestMs: FOR_MS },
  )
})
