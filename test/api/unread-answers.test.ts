import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { openGrpcHandler } from '../../src/query/grpc/grpc-handler.ts'
import { END_FRAME } from '../../src/query/grpc-answers.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import type { QueryService, Reply } from '../../src/query/question.ts'
import { callGrpcForBytes } from './support/grpc-client.ts'
import { ABOUT } from './support/query-api.ts'

const PIECE = 'x'.repeat(64 * 1024)
const QUESTION = '/api/v1/cascades'

/** Answers without an end, as long as they are read. */
class EndlessAnswers implements QueryService {
  cancelled = 0

  ask(): Promise<Reply> {
    const cancel = (): void => {
      this.cancelled++
    }
    const text = {
      cancel,
      async *[Symbol.asyncIterator]() {
        for (;;) yield PIECE
      },
    }
    return Promise.resolve({ kind: 'found', etag: undefined, text })
  }
}

test('an answer that nobody reads is ended, and no more of it is made', async () => {
  const queries = new EndlessAnswers()
  let ended = 0
  const unread = { writeTimeoutMs: 1, onEnded: () => ended++ }
  await using api = await startQueryServer({ host: '127.0.0.1', port: 0, queries, about: ABOUT, unread })
  const socket = connect(api.port, '127.0.0.1').on('error', () => undefined)
  socket.pause().write(`GET ${QUESTION} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await eventually(() => expect([ended, queries.cancelled]).toEqual([1, 1]))
  socket.destroy()
})

test('answers that are read by nobody leave room for one that is', async () => {
  const queries = new EndlessAnswers()
  const clock = { ms: 0 }
  const unread = { maxBytes: 1024 * 1024, writeTimeoutMs: 0, nowMs: () => clock.ms }
  await using api = await startQueryServer({ host: '127.0.0.1', port: 0, queries, about: ABOUT, unread })
  const sockets = Array.from({ length: 2 }, () => connect(api.port, '127.0.0.1').on('error', () => undefined))
  for (const socket of sockets) socket.pause().write(`GET ${QUESTION} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await Promise.all(sockets.map((socket) => once(socket, 'readable')))
  const asked = async (): Promise<Response> => {
    const response = await fetch(`http://127.0.0.1:${api.port}${QUESTION}`)
    await response.body?.cancel()
    return response
  }
  const busy = await asked()
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '1'])
  await eventually(async () => {
    clock.ms += 1_000
    expect((await asked()).status).toBe(200)
  })
  for (const socket of sockets) socket.destroy()
})

const MESSAGE_BYTES = 600_000
const GET_SERVICES = '/jaeger.storage.v2.TraceReader/GetServices'

/** Answers with one large message. */
class LargeMessages implements QueryService {
  cancelled = 0

  ask(): Promise<Reply> {
    const cancel = (): void => {
      this.cancelled++
    }
    const text = {
      cancel,
      async *[Symbol.asyncIterator]() {
        yield `${headerOf(0, MESSAGE_BYTES)}${'\0'.repeat(MESSAGE_BYTES)}${headerOf(END_FRAME, 2)}{}`
      },
    }
    return Promise.resolve({ kind: 'found', etag: undefined, text })
  }
}

function headerOf(first: number, length: number): string {
  const header = Buffer.alloc(5)
  header.writeUInt8(first)
  header.writeUInt32BE(length, 1)
  return header.toString('latin1')
}

/** A call whose answer stays unread. */
async function callUnread(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  session.on('error', () => undefined)
  const stream = session.request({
    ':method': 'POST',
    ':path': GET_SERVICES,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => undefined).end(Buffer.alloc(5))
  await once(stream, 'response')
  stream.pause()
  return session
}

test('gRPC answers that nobody reads share a room, and give way to one that is read', async () => {
  const queries = new LargeMessages()
  const clock = { ms: 0 }
  let ended = 0
  const unread = {
    ...{ maxBytes: 1024 * 1024, writeTimeoutMs: 0, nowMs: () => clock.ms },
    onEnded: () => ended++,
  }
  await using api = await startQueryServer({
    ...{ host: '127.0.0.1', port: 0, queries, about: ABOUT, unread },
    openGrpcHandler: (settings) => Promise.resolve(openGrpcHandler(settings)),
  })
  const asked = () => callGrpcForBytes(`http://127.0.0.1:${api.port}`, GET_SERVICES, ['Anything', {}])
  const first = await callUnread(api.port)
  const refused = await asked()
  expect([refused.code, refused.details]).toEqual([
    status.UNAVAILABLE,
    'too many answers are waiting to be read; ask again in a second',
  ])
  await eventually(async () => {
    clock.ms += 1_000
    expect((await asked()).messages.map(({ length }) => length)).toEqual([MESSAGE_BYTES])
  })
  // What is read holds no room once it is read.
  for (let call = 0; call < 5; call++) expect((await asked()).code).toBe(status.OK)
  expect([ended, queries.cancelled]).toEqual([1, expect.any(Number)])
  first.destroy()
})
