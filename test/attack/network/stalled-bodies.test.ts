import { test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { constants, createGzip } from 'node:zlib'
import { callFrame, dataFrame, RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const MIB = 2 ** 20
/** Nearly the whole budget, as it is delivered; smaller ones have the rest. */
const GROWS_TO = 64 * MIB - 65_536
const REST = [16_384, 16_384, 16_384, ...Array<number>(12).fill(1_024), ...Array<number>(62).fill(64)]
const ATTACKERS = 20
const FOR_MS = 5_000
const FRAME_BYTES = 16_000

leaveNothingBehind()

/** Bytes that inflate to so many, and say of no end. */
async function unendedGzip(): Promise<Buffer> {
  const gzip = createGzip({ level: 9 })
  const parts: Buffer[] = []
  gzip.on('data', (part: Buffer) => parts.push(part))
  gzip.write(Buffer.alloc(GROWS_TO))
  const flushed = Promise.withResolvers<undefined>()
  gzip.flush(constants.Z_SYNC_FLUSH, () => flushed.resolve(undefined))
  await flushed.promise
  gzip.destroy()
  return Buffer.concat(parts)
}

test('bodies over HTTP that together take all the room there is and are never ended', async () => {
  const gzip = await unendedGzip()
  const bodies = [
    { coding: 'Content-Encoding: gzip\r\n', body: gzip },
    ...REST.map((bytes) => ({ coding: '', body: Buffer.alloc(bytes) })),
  ]
  const head = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n'
  await using causeway = await AttackedCauseway.start({ mostTriesAgain: 20 })
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = bodies.map(async ({ coding, body }) => {
        while (!signal.aborted) {
          const socket = connect(ports.http, '127.0.0.1').on('error', () => undefined)
          socket.write(`${head}${coding}Content-Length: ${body.length + 1}\r\n\r\n`)
          socket.write(body)
          const end = (): unknown => socket.destroy()
          signal.addEventListener('abort', end, { once: true })
          await Promise.race([once(socket, 'data'), once(socket, 'close')]).catch(() => undefined)
          signal.removeEventListener('abort', end)
          socket.destroy()
          await pause(20)
        }
      })
      await Promise.all(attackers)
    },
    { what: 'bodies without an end', longestMs: FOR_MS },
  )
})

/** The beginning of a message that says to be large. */
function* largeMessage(stream: number): Generator<Buffer> {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(GROWS_TO, 1)
  yield callFrame(stream)
  yield dataFrame(stream, head)
  for (;;) yield dataFrame(stream, Buffer.alloc(FRAME_BYTES))
}

test('messages over gRPC that are never ended', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Array.from({ length: ATTACKERS }, async () => {
        while (!signal.aborted) {
          using raw = await RawHttp2.to(ports.grpc)
          signal.addEventListener('abort', () => raw.socket.destroy(), { once: true })
          for (const bytes of largeMessage(1)) {
            // Beyond the window of the connection nothing is read: what was sent is held as long as it can be.
            if (raw.socket.destroyed || raw.socket.bytesWritten > MIB) break
            raw.socket.write(bytes)
          }
          await raw.closed
        }
      })
      await Promise.all(attackers)
    },
    { what: 'messages without an end', longestMs: FOR_MS },
  )
})
