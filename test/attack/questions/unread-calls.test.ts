import { expect, test } from '@jest/globals'
import { connect, type ClientHttp2Session } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { bytesOfMessage } from '../../../src/query/grpc-messages.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { askOver } from './asking.ts'
import { LARGE_TRACE, LARGE_TRACE_ID, LIMIT_MIB, storeLargeRows } from './large-rows.ts'

const MB = 1_000_000
const CONNECTIONS = 60
/** The most that one connection may have at the same time. */
const CALLS = 32
const FOR_MS = 8_000
const REST_MS = 20
const FRAME_HEADER_BYTES = 5
const REQUEST = bytesOfMessage('GetTracesRequest', { query: [{ traceId: LARGE_TRACE_ID }] })

leaveNothingBehind()

test.each([
  { rowBytes: 10 * MB, addresses: 1 },
  { rowBytes: MB, addresses: 8 },
])('gRPC calls whose answers nobody reads, %j', async ({ rowBytes, addresses }) => {
  await using causeway = await AttackedCauseway.start({
    limitMib: LIMIT_MIB,
    linking: { wait: '1s', settle_after: '2s' },
  })
  await storeLargeRows(causeway.settings.ports, rowBytes)
  const replies: (number | undefined)[] = []
  await causeway.withstands(
    async ({ ports }, signal) => {
      const held = new Set<ClientHttp2Session>()
      let asked = 0
      while (!signal.aborted) {
        while (held.size < CONNECTIONS) {
          const localAddress = `127.0.1.${(asked++ % addresses) + 1}`
          const session = connect(`http://127.0.0.1:${ports.query}`, {
            createConnection: () => connectSocket({ port: ports.query, host: '127.0.0.1', localAddress }),
          })
          held.add(session)
          session.on('error', () => undefined).once('close', () => held.delete(session))
          for (let call = 0; call < CALLS; call++) askUnread(session)
        }
        replies.push(await askOver(ports.query, LARGE_TRACE, { localAddress: '127.0.0.3' }))
        await pause(REST_MS)
      }
      for (const session of held) session.destroy()
    },
    { what: `unread calls, rows of ${rowBytes} bytes`, longestMs: FOR_MS },
  )
  process.stderr.write(`whoever reads was answered ${replies.join(', ')}\n`)
  expect(replies).toContain(200)
})

function askUnread(session: ClientHttp2Session): void {
  const header = Buffer.alloc(FRAME_HEADER_BYTES)
  header.writeUInt32BE(REQUEST.length, 1)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/jaeger.storage.v2.TraceReader/GetTraces',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => undefined).pause()
  stream.end(Buffer.concat([header, REQUEST]))
}
