import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from '@jest/globals'
import { callFrame, dataFrame, RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const ATTACKERS = 8
const FOR_MS = 8_000
const MESSAGE_BYTES = 60 * 2 ** 20
const PIECES = 5_000

leaveNothingBehind()

test('bodies over HTTP in chunks of a byte', async () => {
  await using causeway = await AttackedCauseway.start()
  const chunks = Buffer.from('1\r\n\n\r\n'.repeat(PIECES))
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Array.from({ length: ATTACKERS }, async () => {
        while (!signal.aborted) {
          const socket = connect(ports.http, '127.0.0.1').on('error', () => undefined)
          const head = ['POST /v1/traces HTTP/1.1', 'Host: localhost', 'Content-Type: application/x-protobuf']
          socket.resume().write(`${head.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`)
          const end = (): unknown => socket.destroy()
          signal.addEventListener('abort', end, { once: true })
          while (!socket.destroyed) if (!socket.write(chunks)) await drained(socket, signal)
          signal.removeEventListener('abort', end)
        }
      })
      await Promise.all(attackers)
    },
    { what: 'chunks of a byte', longestMs: FOR_MS },
  )
})

test('messages over gRPC in frames of a byte', async () => {
  await using causeway = await AttackedCauseway.start()
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(MESSAGE_BYTES, 1)
  const pieces = Buffer.concat(Array.from({ length: PIECES }, () => dataFrame(1, Buffer.from([1]))))
  function* frames(signal: AbortSignal): Generator<Buffer> {
    yield Buffer.concat([callFrame(1), dataFrame(1, prefix)])
    while (!signal.aborted) yield pieces
  }
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Array.from({ length: ATTACKERS }, async () => {
        while (!signal.aborted) {
          using raw = await RawHttp2.to(ports.grpc)
          signal.addEventListener('abort', () => raw.socket.destroy())
          await raw.flood(frames(signal))
        }
      })
      await Promise.all(attackers)
    },
    { what: 'frames of a byte', longestMs: FOR_MS },
  )
})

async function drained(socket: Socket, signal: AbortSignal): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(1_000)])
  await once(socket, 'drain', { signal: over }).catch(() => undefined)
}
