import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { chargeAnswer, UnreadAnswers, type UnreadSettings } from '../../src/platform/http-listener.ts'

/** More than the system keeps for a reader that does not read. */
const LARGE = 32 * 1024 * 1024
const WRITE_TIMEOUT_MS = 30_000
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A server with large answers, and a clock to turn. */
async function answering(settings: UnreadSettings = {}) {
  const state = { nowMs: 0, ended: 0 }
  const unread = new UnreadAnswers({
    writeTimeoutMs: WRITE_TIMEOUT_MS,
    nowMs: () => state.nowMs,
    onEnded: () => state.ended++,
    ...settings,
  })
  const given: { response: ServerResponse; isTaken: boolean }[] = []
  const readers: Socket[] = []
  const server = createServer((request, response) => {
    const isTaken = chargeAnswer(response, Number(request.headers['x-charge'] ?? 0))
    given.push({ response, isTaken })
    response.end(isTaken ? Buffer.alloc(LARGE) : 'busy')
  })
  unread.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    unread,
    state,
    given,
    /** Asks, and reads nothing yet. */
    ask: async (charge = 0, localAddress = '127.0.0.1'): Promise<Socket> => {
      const before = given.length
      const { port } = server.address() as AddressInfo
      const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined)
      readers.push(socket)
      socket.pause().write(`GET / HTTP/1.1\r\nHost: x\r\nX-Charge: ${charge}\r\n\r\n`)
      while (given.length === before) await turn()
      return socket
    },
    [Symbol.asyncDispose]: async () => {
      for (const reader of readers) reader.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

test('an answer that nobody reads is ended after a while', async () => {
  await using server = await answering()
  await server.ask()
  server.unread.look()
  server.state.nowMs += WRITE_TIMEOUT_MS - 1
  server.unread.look()
  expect(server.state.ended).toBe(0)
  server.state.nowMs += WRITE_TIMEOUT_MS
  server.unread.look()
  expect(server.state.ended).toBe(1)
  expect(server.given[0]!.response.req.socket.destroyed).toBe(true)
})

test('an answer that is read slowly but steadily is not ended', async () => {
  await using server = await answering()
  const reader = await server.ask()
  for (let at = 0; at < 4; at++) {
    // A part of the whole is enough, however slowly it comes.
    const until = reader.bytesRead + LARGE / 8
    reader.resume()
    while (reader.bytesRead < until) await turn()
    reader.pause()
    server.state.nowMs += WRITE_TIMEOUT_MS - 1
    server.unread.look()
  }
  expect(server.state.ended).toBe(0)
})

test('an answer that is still being made is waited for', async () => {
  const unread = new UnreadAnswers({ writeTimeoutMs: 10, nowMs: () => nowMs })
  let nowMs = 0
  const server = createServer(() => undefined)
  unread.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const asked = once(server, 'request')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [, response] = (await asked) as [unknown, ServerResponse]
  nowMs += 1_000
  unread.look()
  response.end('late')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
  server.close()
  await once(server, 'close')
})

test('if answers hold too much memory, the one that was not read for longest is ended', async () => {
  await using server = await answering({ maxBytes: 100 })
  await server.ask(50)
  server.unread.look()
  server.state.nowMs += 500
  await server.ask(50)
  server.unread.look()
  server.state.nowMs += 600
  await server.ask(50)
  expect(server.state.ended).toBe(1)
  expect(server.given.map(({ isTaken, response }) => [isTaken, response.req.socket.destroyed])).toEqual([
    [true, true],
    [true, false],
    [true, false],
  ])
})

test('if every answer is being read, the next one is refused with a request to retry', async () => {
  await using server = await answering({ maxBytes: 100 })
  await server.ask(60)
  await server.ask(60)
  expect(server.given.map(({ isTaken }) => isTaken)).toEqual([true, false])
  expect(server.state.ended).toBe(0)
})

test('an answer that was read to its end holds no memory', async () => {
  await using server = await answering({ maxBytes: 100 })
  const reader = await server.ask(100)
  reader.resume()
  await once(server.given[0]!.response, 'close')
  await server.ask(100)
  expect(server.given.map(({ isTaken }) => isTaken)).toEqual([true, true])
})

test('a connection may have any number of answers one after the other', async () => {
  const unread = new UnreadAnswers()
  const server = createServer((_, response) => response.end('x'))
  unread.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  for (let at = 0; at < 40; at++) {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
  }
  socket.destroy()
  server.close()
  await once(server, 'close')
})

test('whoever comes from an address that holds less is answered at once, at the cost of the one that holds most', async () => {
  await using server = await answering({ maxBytes: 100 })
  for (let at = 0; at < 4; at++) await server.ask(25)
  await server.ask(25)
  expect(server.given.map(({ isTaken }) => isTaken)).toEqual([true, true, true, true, false])
  await server.ask(25, '127.0.0.2')
  expect(server.given.at(-1)?.isTaken).toBe(true)
  expect(server.state.ended).toBe(1)
  expect(server.given[0]!.response.req.socket.destroyed).toBe(true)
})
