import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import type { QueryService, Reply } from '../../src/query/question.ts'
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
