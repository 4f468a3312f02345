import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect as connectPlain } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { Authority, type Certificate } from '../../lab/harness/certificates.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import type { Sender } from '../../src/model/otlp-requests.ts'
import { certificateNames } from '../../src/platform/tls.ts'
import { senderOfConnection } from '../../src/receiver/http-server.ts'
import { InFlight } from '../../src/receiver/in-flight.ts'
import { Intake } from '../../src/receiver/intake.ts'
import { type CallOrigins, sessionOf } from '../../src/receiver/otlp/grpc-call.ts'
import { GrpcSenders } from '../../src/receiver/otlp/grpc-server.ts'
import { RecordingPort } from './support/recording-port.ts'

const authority = new Authority()
const server = authority.issue()
const kubelet = authority.issue({ name: 'kubelet', dns: [] })
/** Says the same of itself, and nobody vouches for it. */
const forged = new Authority('a stranger').issue({ name: 'kubelet', dns: [] })

/** What each connection, and each call, was taken to come from. */
const seen: { names: string[] | undefined; http: Sender | undefined }[] = []
const calls: (Sender | undefined)[] = []

const origins: CallOrigins = new WeakMap()
const senders = new GrpcSenders(origins, () => undefined)
/** Notes which connection a call came on. */
const noting: ServerInterceptor = (_, call) =>
  new ServerInterceptingCall(call, {
    start: (next) => {
      next({
        onReceiveMetadata(metadata, pass) {
          origins.set(metadata, { connection: sessionOf(call)! })
          pass(metadata)
        },
      })
    },
  })
const observer = {
  answered: () => undefined,
  unauthenticated: () => undefined,
  dropped: () => undefined,
  unread: () => undefined,
}
const settings = { receiver: 'otlp/test', inFlight: new InFlight() }
const intake = new Intake(settings, 'grpc', { port: new RecordingPort(), observer })
const grpc = new Server({ interceptors: [noting, senders.interceptor(intake)] })
grpc.addService(
  { export: EXPORT_METHODS.traces },
  {
    export: ({ metadata }: { metadata: Metadata }, answer: (error: null, reply: Buffer) => void) => {
      calls.push(origins.get(metadata)?.sender)
      answer(null, Buffer.alloc(0))
    },
  },
)
const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
/** Lets everybody in, whatever their certificate is worth. */
const letsEverybodyIn = { requestCert: true, rejectUnauthorized: false, ca: authority.cert }
const listener = createServer({ ...server, ...letsEverybodyIn, ALPNProtocols: ['h2'] }, (socket) => {
  seen.push({ names: certificateNames(socket), http: senderOfConnection(socket) })
  senders.connected(socket)
  injector.injectConnection(socket)
})

beforeAll(async () => {
  listener.listen(0, '0.0.0.0')
  await once(listener, 'listening')
})
afterAll(() => {
  grpc.forceShutdown()
  listener.close()
})
beforeEach(() => {
  seen.length = 0
  calls.length = 0
})

/** Makes one call over a connection of its own, from a port that it gives back at once; returns that port. */
async function call(identity?: Certificate, localPort = 0): Promise<number> {
  const { own, end } = await calling(identity, localPort)
  await end()
  return own
}

/** Makes one call over a connection that stays open. */
async function calling(
  identity?: Certificate,
  localPort = 0,
  host = '127.0.0.1',
): Promise<{ own: number; end: () => Promise<void> }> {
  const { port } = listener.address() as AddressInfo
  const accepted = once(listener, 'secureConnection') as Promise<[TLSSocket]>
  const plain = connectPlain({ port, host, localAddress: '127.0.0.1', localPort })
  plain.on('error', () => undefined)
  const socket = connect({
    socket: plain,
    servername: 'localhost',
    ca: authority.cert,
    ALPNProtocols: ['h2'],
    ...identity,
  })
  await once(socket, 'secureConnect')
  const own = plain.localPort ?? 0
  const [other] = await accepted
  const session = connectHttp2('https://localhost', { createConnection: () => socket })
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.end(Buffer.alloc(5))
  stream.resume()
  await once(stream, 'end')
  session.on('error', () => undefined)
  socket.on('error', () => undefined)
  const end = async (): Promise<void> => {
    const gone = [plain, other].map((side) => new Promise((resolve) => side.once('close', resolve)))
    // Without a farewell, so that the system does not keep the port for a while.
    plain.resetAndDestroy()
    await Promise.all(gone)
  }
  return { own, end }
}

test('a certificate names its sender where the authority vouches for it, and only there', async () => {
  await call(kubelet)
  await call(forged)
  await call()
  expect(seen).toEqual([
    { names: ['cn:kubelet'], http: { certificate: ['cn:kubelet'] } },
    { names: undefined, http: undefined },
    { names: undefined, http: undefined },
  ])
  expect(calls).toEqual([{ certificate: ['cn:kubelet'] }, {}, {}])
})

test('a name goes with its connection: whoever comes from the same address afterwards does not have it', async () => {
  const port = await call(kubelet)
  expect(await call(undefined, port)).toBe(port)
  expect(calls).toEqual([{ certificate: ['cn:kubelet'] }, {}])
})

test('a name is that of its connection alone, though another comes from the same address and port at the same time', async () => {
  const first = await calling(kubelet)
  // The same on the sender's side; only the address it is sent to differs.
  const second = await calling(undefined, first.own, '127.0.0.3')
  expect(second.own).toBe(first.own)
  expect(calls).toEqual([{ certificate: ['cn:kubelet'] }, {}])
  await first.end()
  await second.end()
})
