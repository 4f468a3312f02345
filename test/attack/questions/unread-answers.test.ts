import { expect, test } from '@jest/globals'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { cpid, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const SPANS = 20_000
const BATCH = 1_000
const READERS = 1_000
const FOR_MS = 5_000
/** Several attackers, since one address may have so many connections alone. */
const ADDRESSES = Array.from({ length: 8 }, (_, at) => `127.0.1.${at + 1}`)

leaveNothingBehind()

test('a thousand large answers that nobody reads', async () => {
  await using causeway = await AttackedCauseway.start({ mostTriesAgain: 200 })
  await store(causeway.settings.ports.grpc)
  let asked = 0
  await causeway.withstands(
    async ({ ports }, signal) => {
      const held = new Set<Socket>()
      while (!signal.aborted) {
        while (held.size < READERS) {
          const localAddress = ADDRESSES[asked++ % ADDRESSES.length]!
          const socket = connect({ port: ports.query, host: '127.0.0.1', localAddress })
          held.add(socket)
          socket.on('error', () => undefined).once('close', () => held.delete(socket))
          socket.pause().write(`GET /api/v1/cpids/${cpid(1)}/spans HTTP/1.1\r\nHost: localhost\r\n\r\n`)
        }
        await pause(20)
      }
      for (const socket of held) socket.destroy()
    },
    { what: 'answers that nobody reads', longestMs: FOR_MS },
  )
  expect(asked).toBeGreaterThanOrEqual(READERS)
})

/** What is asked for, so much that nobody takes it in at once. It is there before the attack, which lasts as long on any machine. */
async function store(port: number): Promise<void> {
  using sender = new GrpcSender(port)
  const filler = 'x'.repeat(300)
  for (let from = 0; from < SPANS; from += BATCH) {
    const spans = Array.from({ length: BATCH }, (_, at) => ({
      trace: from + 1,
      id: from + at + 1,
      cpid: cpid(1),
      attributes: { filler },
    }))
    await sender.export('traces', spansRequest(`service ${from}`, spans))
  }
}
