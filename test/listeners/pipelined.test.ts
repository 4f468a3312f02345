import { once } from 'node:events'
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { UnreadAnswers } from '../../src/platform/http-listener.ts'
import { readInPieces } from '../../src/platform/pipelined-requests.ts'

const MOST_REQUESTS = 40

/** A request with a body of so many bytes, how many turns its answer takes, and how long that is. */
interface Asked {
  readonly turns: number
  readonly body: number
  readonly answer: number
}

async function answering() {
  const counts = { underWay: 0, most: 0, begun: 0, parsed: 0 }
  class Counted extends IncomingMessage {
    constructor(socket: Socket) {
      super(socket)
      counts.parsed++
    }
  }
  const server = readInPieces(createServer({ IncomingMessage: Counted }))
  server.on('request', (request, response) => {
    counts.begun++
    counts.most = Math.max(counts.most, ++counts.underWay)
    response.once('close', () => counts.underWay--)
    let read = 0
    request.on('data', (bytes: Buffer) => (read += bytes.length))
    let turns = Number(request.headers['x-turns'])
    const answer = (): void => {
      if (response.closed) return
      if (turns-- > 0) setImmediate(answer)
      else response.end(`${request.url} ${read}\n${'z'.repeat(Number(request.headers['x-answer']))}\n`)
    }
    request.once('end', answer)
  })
  const unread = new UnreadAnswers()
  unread.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...{ counts, port: (server.address() as AddressInfo).port },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const requestOf = ({ turns, body, answer }: Asked, at: number): string =>
  `POST /${at} HTTP/1.1\r\nHost: x\r\nX-Turns: ${turns}\r\nX-Answer: ${answer}\r\nContent-Length: ${body}\r\n\r\n${'y'.repeat(body)}`

/** All that is answered to requests that are written in pieces, on one connection. */
async function answersTo(
  port: number,
  text: string,
  cuts: readonly number[],
  until: number,
): Promise<string[]> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  let heard = ''
  const lines = (): string[] => [...heard.matchAll(/^\/\d+ \d+$/gm)].map(([line]) => line)
  const done = Promise.withResolvers<undefined>()
  socket.on('close', () => done.resolve(undefined))
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.toString().replaceAll('z', '')
    if (lines().length === until) done.resolve(undefined)
  })
  let from = 0
  for (const cut of [...cuts.map((one) => one % text.length).sort((a, b) => a - b), text.length]) {
    socket.write(text.slice(from, cut))
    await new Promise((resolve) => setImmediate(resolve))
    from = cut
  }
  await done.promise
  socket.destroy()
  return lines()
}

const asked: fc.Arbitrary<Asked> = fc.record({
  turns: fc.nat(3),
  body: fc.nat(30_000),
  answer: fc.nat(100_000),
})

test('requests of one connection are answered in their order, one at a time', async () => {
  await using server = await answering()
  const some = fc.array(asked, { minLength: 1, maxLength: MOST_REQUESTS })
  await fc.assert(
    fc.asyncProperty(some, fc.array(fc.nat(), { maxLength: 5 }), async (requests, cuts) => {
      const text = requests.map(requestOf).join('')
      const answers = await answersTo(server.port, text, cuts, requests.length)
      expect(answers).toEqual(requests.map(({ body }, at) => `/${at} ${body}`))
      expect(server.counts.most).toBe(1)
    }),
    { numRuns: 30 },
  )
})

test('of thousands that come at once no more are parsed than a piece holds, while one is answered', async () => {
  await using server = await answering()
  const text = requestOf({ turns: Infinity, body: 0, answer: 0 }, 0).repeat(100_000)
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
  socket.write(text)
  while (server.counts.parsed === 0) await new Promise((resolve) => setImmediate(resolve))
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(server.counts.begun).toBe(1)
  expect(server.counts.parsed).toBeLessThan(200)
  socket.destroy()
})
