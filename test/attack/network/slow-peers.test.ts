import { test } from '@jest/globals'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { CausewayPorts } from '../../../lab/harness/causeway/causeway-settings.ts'
import { callFrame, dataFrame, RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const WRITERS_OF_EACH = 60
const ASKERS_OF_EACH = 20
const FOR_MS = 5_000
const BETWEEN_BYTES_MS = 50

const BEGINNINGS: Readonly<Record<keyof CausewayPorts, string>> = {
  grpc: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  http: 'POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n',
  query: 'GET /api/v1/cascades HTTP/1.1\r\nHost: localhost\r\nX: ',
  metrics: 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ',
  health: 'GET / HTTP/1.1\r\nHost: localhost\r\nX: ',
}
/** Asked again and again over one connection, and not read. */
const QUESTIONS: Partial<Record<keyof CausewayPorts, string>> = {
  query: 'GET /api/v1/cascades HTTP/1.1\r\nHost: localhost\r\n\r\n',
  metrics: 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n',
  health: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
}

leaveNothingBehind()

/** Has an attacker at work over one connection after the other. */
async function again(
  port: number,
  localAddress: string,
  signal: AbortSignal,
  work: (socket: Socket) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined)
    await work(socket)
    socket.destroy()
    await pause(BETWEEN_BYTES_MS)
  }
}

test('senders that write a byte at a time, to every port', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Object.entries(BEGINNINGS).flatMap(([listener, text]) =>
        Array.from({ length: WRITERS_OF_EACH }, (_, at) =>
          again(ports[listener as keyof CausewayPorts], `127.0.3.${(at % 8) + 1}`, signal, async (socket) => {
            for (let sent = 0; !socket.destroyed && !signal.aborted; sent++) {
              socket.write(text.charAt(sent) || 'x')
              await pause(BETWEEN_BYTES_MS)
            }
          }),
        ),
      )
      await Promise.all(attackers)
    },
    { what: 'slow writers', longestMs: FOR_MS },
  )
})

/** The same of a sender. */
const REQUESTS: Partial<Record<keyof CausewayPorts, string>> = {
  http: 'POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
}

test.each([
  ['askers', QUESTIONS],
  ['senders', REQUESTS],
])('%s that read nothing and go on, at every port that answers', async (who, texts) => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const attackers = Object.entries(texts).flatMap(([listener, text]) =>
        Array.from({ length: ASKERS_OF_EACH }, (_, at) =>
          again(ports[listener as keyof CausewayPorts], `127.0.3.${(at % 8) + 1}`, signal, async (socket) => {
            socket.pause()
            while (!socket.destroyed && !signal.aborted) {
              if (!socket.writableNeedDrain) socket.write(text.repeat(100))
              await pause(BETWEEN_BYTES_MS)
            }
          }),
        ),
      )
      await Promise.all(attackers)
    },
    { what: `${who} that read nothing`, longestMs: FOR_MS },
  )
})

test.each(['grpc', 'query'] as const)(
  'callers over gRPC at the %s port that read no answer',
  async (port) => {
    await using causeway = await AttackedCauseway.start()
    await causeway.withstands(
      async ({ ports }, signal) => {
        const attackers = Array.from({ length: ASKERS_OF_EACH }, async () => {
          while (!signal.aborted) {
            using raw = await RawHttp2.to(ports[port])
            raw.socket.pause()
            signal.addEventListener('abort', () => raw.socket.destroy(), { once: true })
            for (let stream = 1; !raw.socket.destroyed; stream += 2) {
              if (!raw.socket.writableNeedDrain)
                raw.socket.write(
                  Buffer.concat([callFrame(stream, true, port), dataFrame(stream, Buffer.alloc(5), true)]),
                )
              await pause(1)
            }
          }
        })
        await Promise.all(attackers)
      },
      { what: `callers at ${port} that read nothing`, longestMs: FOR_MS },
    )
  },
)
