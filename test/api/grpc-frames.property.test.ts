import { afterEach, expect, test } from '@jest/globals'
import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { pingFrame, RawHttp2 } from '../../lab/harness/clients/raw-http2.ts'
import { openGrpcHandler } from '../../src/query/grpc/grpc-handler.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import type { Reply } from '../../src/query/question.ts'
import { startGrpc } from '../receiver/support/start-receivers.ts'
import { RecordingPort } from '../receiver/support/recording-port.ts'
import { drawnFrames } from '../support/drawn-http2.ts'
import { callGrpc } from './support/grpc-client.ts'
import { ABOUT } from './support/query-api.ts'

const started: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of started.splice(0)) await one[Symbol.asyncDispose]()
})

const PORTS = {
  query: () =>
    startQueryServer({
      host: '127.0.0.1',
      port: 0,
      about: ABOUT,
      queries: { ask: (): Promise<Reply> => Promise.resolve({ kind: 'unknown' }) },
      openGrpcHandler: (handler) => Promise.resolve(openGrpcHandler(handler)),
    }),
  grpc: () => startGrpc(new RecordingPort()),
}

const ask = async (port: number): Promise<status> => {
  const path = '/jaeger.storage.v2.TraceReader/GetServices'
  const { code } = await callGrpc(`http://localhost:${port}`, path, ['Anything', {}], 'GetServicesResponse')
  return code
}

test.each([
  ['query', status.OK],
  ['grpc', status.UNIMPLEMENTED],
] as const)(
  'drawn frames to the %s port, in one piece, end at most their connection',
  async (port, answer) => {
    const server = await PORTS[port]()
    started.push(server)
    await fc.assert(
      fc.asyncProperty(drawnFrames, async (frames) => {
        using raw = await RawHttp2.to(server.port, '127.0.0.1', Buffer.concat([frames, pingFrame()]))
        while (raw.heard.pongs === 0 && !raw.socket.destroyed)
          await new Promise((resolve) => setImmediate(resolve))
        expect(await ask(server.port)).toBe(answer)
      }),
      { numRuns: 100 },
    )
  },
)
