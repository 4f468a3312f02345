import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterEach, expect, test } from '@jest/globals'
import { status } from '@grpc/grpc-js'
import { http2Floods } from '../../lab/harness/clients/http2-floods.ts'
import { callFrame, RawHttp2 } from '../../lab/harness/clients/raw-http2.ts'
import { openGrpcHandler } from '../../src/query/grpc/grpc-handler.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import type { Reply } from '../../src/query/question.ts'
import { callGrpc } from './support/grpc-client.ts'
import { ABOUT } from './support/query-api.ts'

const PINGS = { 'grpc.keepalive_time_ms': 100, 'grpc.keepalive_timeout_ms': 5_000 }

const started: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of started.splice(0)) await one[Symbol.asyncDispose]()
})

async function starting() {
  const server = await startQueryServer({
    host: '127.0.0.1',
    port: 0,
    about: ABOUT,
    queries: { ask: (): Promise<Reply> => Promise.resolve({ kind: 'unknown' }) },
    openGrpcHandler: (handler) => Promise.resolve(openGrpcHandler(handler, PINGS)),
  })
  started.push(server)
  return server
}

const ask = (port: number) =>
  callGrpc(
    `http://localhost:${port}`,
    '/jaeger.storage.v2.TraceReader/GetServices',
    ['Anything', {}],
    'GetServicesResponse',
  )

test.each(http2Floods('query'))(
  'a flood of $what ends its connection to the query port, and no other',
  async ({ frames, reads }) => {
    const server = await starting()
    expect(await ask(server.port)).toMatchObject({ code: status.OK })
    using raw = await RawHttp2.to(server.port)
    if (!reads) raw.socket.pause()
    const flooding = raw.flood(frames())
    expect(await ask(server.port)).toMatchObject({ code: status.OK })
    await flooding
    await raw.closed
    expect(await ask(server.port)).toMatchObject({ code: status.OK })
  },
)

test('a connection that begins headers and never ends them is closed', async () => {
  const server = await starting()
  using raw = await RawHttp2.to(server.port)
  raw.socket.write(callFrame(1, false, 'query'))
  await raw.closed
})

test('a connection of which nothing more comes is closed, and one that answers pings is kept', async () => {
  const server = await starting()
  const polite = connect(`http://127.0.0.1:${server.port}`)
  await once(polite, 'connect')
  using raw = await RawHttp2.to(server.port)
  await raw.closed
  expect(polite.closed).toBe(false)
  polite.close()
})
