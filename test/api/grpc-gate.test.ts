import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect, type ClientHttp2Stream } from 'node:http2'
import { request } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { afterEach, expect, test } from '@jest/globals'
import { credentials, Metadata, status } from '@grpc/grpc-js'
import { Authority } from '../../lab/harness/certificates.ts'
import { openBearerAuthenticator } from '../../src/platform/credentials.ts'
import { END_FRAME } from '../../src/query/grpc-answers.ts'
import { bytesOfMessage } from '../../src/query/grpc-messages.ts'
import { openGrpcHandler } from '../../src/query/grpc/grpc-handler.ts'
import { type QueryServerSettings, startQueryServer } from '../../src/query/http/query-server.ts'
import { type Asker, BadQuestion, type QueryService, type Reply } from '../../src/query/question.ts'
import { callGrpc, type GrpcAnswer } from './support/grpc-client.ts'
import { ABOUT } from './support/query-api.ts'

const started: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of started.splice(0)) await one[Symbol.asyncDispose]()
})

/** Answers each question with what it is given. */
class Answering implements QueryService {
  readonly askers: Asker[] = []
  answer: () => Promise<Reply> = () => Promise.resolve({ kind: 'unknown' })

  ask(_question: unknown, _known: unknown, _gone: unknown, asker?: Asker): Promise<Reply> {
    if (asker !== undefined) this.askers.push(asker)
    return this.answer()
  }
}

async function starting(settings: Partial<QueryServerSettings> = {}) {
  const queries = new Answering()
  const troubles: string[] = []
  const server = await startQueryServer({
    host: '127.0.0.1',
    port: 0,
    about: ABOUT,
    openGrpcHandler: (handler) => Promise.resolve(openGrpcHandler(handler)),
    onTrouble: (reason) => troubles.push(reason),
    ...{ ...settings, queries },
  })
  started.push(server)
  return { queries, troubles, port: server.port, url: `http://localhost:${server.port}` }
}

type How = Parameters<typeof callGrpc>[4]
const services = (url: string, how?: How): Promise<GrpcAnswer> =>
  callGrpc(url, '/jaeger.storage.v2.TraceReader/GetServices', ['Anything', {}], 'GetServicesResponse', how)

/** An answer in these chunks, and how often its reading was given up. */
function found(chunks: Iterable<string>, onCancel: () => void = () => undefined): Promise<Reply> {
  const text = {
    cancel: onCancel,
    async *[Symbol.asyncIterator]() {
      yield* chunks
    },
  }
  return Promise.resolve({ kind: 'found', text, etag: undefined })
}

function frame(first: number, bytes: Buffer): string {
  const header = Buffer.from([first, 0, 0, 0, 0])
  header.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([header, bytes]).toString('latin1')
}

const SERVICES = frame(0, bytesOfMessage('GetServicesResponse', { services: ['ä', 'b'] }))

test('an answer is put together from whatever pieces it comes in', async () => {
  const { url, queries } = await starting()
  const text = SERVICES + frame(0, Buffer.alloc(0)) + SERVICES
  queries.answer = () => found(Array.from({ length: text.length }, (_, at) => text.charAt(at)))
  expect((await services(url)).messages).toEqual([{ services: ['ä', 'b'] }, {}, { services: ['ä', 'b'] }])
  queries.answer = () => found([text])
  expect((await services(url)).messages).toHaveLength(3)
})

test('what an answer lacks is in its trailers, or is why it is refused', async () => {
  const { url, queries } = await starting()
  const end = (isRefused: boolean): string =>
    frame(END_FRAME, Buffer.from(JSON.stringify({ lacks: 'ünfinished', isRefused })))
  queries.answer = () => found([SERVICES, end(false)])
  const partial = await services(url)
  expect(partial).toMatchObject({ code: status.OK, messages: [{ services: ['ä', 'b'] }] })
  expect(partial.trailers.get('causeway-partial')).toEqual([encodeURIComponent('ünfinished')])
  queries.answer = () => found([end(true)])
  expect(await services(url)).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: 'ünfinished' })
})

test('a fault here is told to the operator, and not to whoever asks', async () => {
  const { url, queries, troubles } = await starting()
  queries.answer = () => Promise.reject(new Error('the disk is gone'))
  const failed = await services(url)
  expect(failed.code).toBe(status.INTERNAL)
  expect(failed.details).not.toContain('disk')
  expect(troubles).toEqual(['the disk is gone'])
  queries.answer = () => Promise.reject(new BadQuestion('ask otherwise'))
  expect(await services(url)).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'ask otherwise' })
})

test('who shows no credential that is known is turned away, over gRPC as over HTTP', async () => {
  const turnedAway: string[] = []
  using authenticator = openBearerAuthenticator({
    ...{ id: 'bearertokenauth', header: 'Authorization', scheme: 'Bearer', tokens: ['right'] },
    ...{ reloadIntervalMs: 0, onTrouble: () => undefined },
  })
  const { url, queries } = await starting({
    authenticator,
    onTurnedAway: (reason) => turnedAway.push(reason),
  })
  const metadata = new Metadata()
  metadata.set('authorization', 'Bearer wrong')
  expect(await services(url, { metadata })).toMatchObject({ code: status.UNAUTHENTICATED })
  expect(await services(url)).toMatchObject({ code: status.UNAUTHENTICATED })
  expect(queries.askers).toEqual([])
  expect(turnedAway).toHaveLength(2)
  metadata.set('authorization', 'Bearer right')
  expect(await services(url, { metadata })).toMatchObject({ code: status.OK })
  expect(queries.askers).toHaveLength(1)
})

test('over TLS clients of gRPC get HTTP/2, and everybody else HTTP/1.1', async () => {
  const authority = new Authority()
  const { cert, key } = authority.issue()
  const { url, port } = await starting({ tls: { certPem: cert, keyPem: key } })
  const secure = credentials.createSsl(Buffer.from(authority.cert))
  expect(await services(url, { secure })).toMatchObject({ code: status.OK })
  for (const [offered, chosen] of [
    [['h2', 'http/1.1'], 'http/1.1'],
    [['http/1.1'], 'http/1.1'],
    [['h2'], 'h2'],
  ] as const) {
    const socket = connectTls({ host: 'localhost', port, ca: authority.cert, ALPNProtocols: [...offered] })
    await once(socket, 'secureConnect')
    expect(socket.alpnProtocol).toBe(chosen)
    socket.destroy()
  }
  const asked = request(`https://localhost:${port}/api/v1/spans`, { ca: authority.cert, agent: false })
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  expect(response.statusCode).toBe(404)
})

/** A call whose answer nobody reads. */
async function unread(port: number): Promise<{ session: ClientHttp2Session; call: ClientHttp2Stream }> {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 1 } })
  session.on('error', () => undefined)
  await once(session, 'connect')
  const call = session.request({
    ':method': 'POST',
    ':path': '/jaeger.storage.v2.TraceReader/GetServices',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  call.on('error', () => undefined)
  call.end(Buffer.from([0, 0, 0, 0, 0]))
  return { session, call }
}

test('an answer that nobody reads is given up, and its connection with it', async () => {
  const { port, queries, troubles } = await starting({ unread: { writeTimeoutMs: 100 } })
  const cancelled = Promise.withResolvers<undefined>()
  queries.answer = () => found([SERVICES, SERVICES], () => cancelled.resolve(undefined))
  const { session } = await unread(port)
  await Promise.all([cancelled.promise, once(session, 'close')])
  expect(troubles).toEqual([])
})

test('a call of a client that is gone is given up', async () => {
  const { port, queries } = await starting({ unread: { writeTimeoutMs: 0 } })
  const cancelled = Promise.withResolvers<undefined>()
  queries.answer = () => found([SERVICES, SERVICES], () => cancelled.resolve(undefined))
  const { call, session } = await unread(port)
  await once(call, 'response')
  session.destroy()
  await cancelled.promise
})

test('calls count toward the limits of connections, as long as they last', async () => {
  const { url, port, queries } = await starting({ connections: { max: 4, maxPerAddress: 1 } })
  const held = Promise.withResolvers<Reply>()
  queries.answer = () => held.promise
  const first = await unread(port)
  while (queries.askers.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const refused = await services(url)
  expect(refused).toMatchObject({
    code: status.UNAVAILABLE,
    details: expect.stringMatching(/1 connections of your address/),
  })
  expect((await fetch(`${url}/api/v1/spans`)).status).toBe(503)
  first.session.destroy()
  held.resolve({ kind: 'unknown' })
  let answer = await services(url)
  while (answer.code === status.UNAVAILABLE) answer = await services(url)
  expect(answer.code).toBe(status.OK)
})

test('a trusted proxy says who asks', async () => {
  const { url, queries } = await starting({ trustedProxies: ['127.0.0.1'] })
  const metadata = new Metadata()
  metadata.set('x-forwarded-for', '192.0.2.7')
  await services(url, { metadata })
  expect(queries.askers.map(({ address }) => address)).toEqual(['192.0.2.7'])
})

test('a port for gRPC alone answers no HTTP', async () => {
  const { url, port } = await starting({ isGrpcAlone: true })
  expect(await services(url)).toMatchObject({ code: status.OK })
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/spans`)
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ error: { code: 'grpc_alone' } })
})
