import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { type ConnectionLimits, Connections, type DropReason } from '../../src/platform/connections.ts'

const HERE = '127.0.0.1'
const ELSEWHERE = '127.0.0.2'
/** Only Linux has all of 127.0.0.0/8 without being told to. */
const onLinux = process.platform === 'linux' ? test : test.skip

/** A listener that notes whom it was shown. */
async function listening(limits: ConnectionLimits) {
  const shown: Socket[] = []
  const dropped: DropReason[] = []
  const server = createServer((socket) => shown.push(socket.on('error', () => undefined)))
  const connections = new Connections(server, limits, (reason) => dropped.push(reason))
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const clients: Socket[] = []
  return {
    shown,
    dropped,
    connections,
    /** Resolves to the connection once it has been taken or closed. */
    from: async (localAddress: string): Promise<Socket> => {
      const before = shown.length + dropped.length
      const { port } = server.address() as AddressInfo
      const socket = connect({ port, host: HERE, localAddress }).resume()
      clients.push(socket.on('error', () => undefined))
      while (shown.length + dropped.length === before) await new Promise((resolve) => setImmediate(resolve))
      return socket
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : once(socket, 'close')

test('of connections that have asked for nothing the first one goes when there are too many', async () => {
  await using listener = await listening({ max: 2 })
  const [first] = [
    await listener.from(HERE),
    await listener.from(HERE),
    await listener.from(HERE),
    await listener.from(HERE),
  ]
  expect(listener.dropped).toEqual([])
  await listener.from(HERE)
  await closed(first)
  expect([listener.dropped, listener.connections.size]).toEqual([['limit'], 4])
})

test('where every connection has a request under way a newcomer is shown to nobody', async () => {
  await using listener = await listening({ max: 1 })
  for (let at = 0; at < 2; at++) await listener.from(HERE)
  expect(listener.connections.begin(listener.shown[0]!).kind).toBe('begun')
  expect(listener.connections.begin(listener.shown[1]!)).toEqual({ kind: 'refused', reason: 'address' })
  const idle = listener.shown[1]!
  await listener.from(HERE)
  await closed(idle)
  expect(listener.shown).toHaveLength(3)
})

onLinux('a newcomer for whom nobody goes is told so when it asks, and leaves then', async () => {
  await using listener = await listening({ max: 1 })
  await listener.from(HERE)
  expect(listener.connections.begin(listener.shown[0]!).kind).toBe('begun')
  const idle = await listener.from(ELSEWHERE)
  const newcomer = await listener.from(HERE)
  await new Promise((resolve) => setImmediate(resolve))
  expect([listener.shown.length, listener.connections.size]).toEqual([3, 2])
  expect(listener.connections.begin(listener.shown[2]!)).toEqual({ kind: 'refused', reason: 'address' })
  await closed(newcomer)
  expect([idle.closed, listener.dropped, listener.connections.size]).toEqual([false, ['limit', 'address'], 2])
})

onLinux('newcomers who are told that nobody goes for them keep nobody else out', async () => {
  await using listener = await listening({ max: 1 })
  await listener.from(HERE)
  listener.connections.begin(listener.shown[0]!)
  const idle = await listener.from(ELSEWHERE)
  for (let at = 0; at < 100; at++) await listener.from(HERE)
  expect(listener.shown.length).toBeLessThan(100)
  const other = await listener.from(ELSEWHERE)
  await closed(idle)
  expect([other.closed, listener.connections.size]).toEqual([false, 2])
})

onLinux('from elsewhere there is a place however many one address has', async () => {
  await using listener = await listening({ max: 2, maxPerAddress: 1 })
  const first = await listener.from(HERE)
  for (let at = 0; at < 3; at++) await listener.from(HERE)
  const other = await listener.from(ELSEWHERE)
  await closed(first)
  expect([other.closed, listener.connections.size]).toEqual([false, 4])
})

test('a stranger that shows nothing in time is closed', async () => {
  await using listener = await listening({ max: 10, credentialWithinMs: 20 })
  const first = listener.from(HERE)
  const known = await first
  listener.connections.known(listener.shown[0]!)
  await closed(await listener.from(HERE))
  expect(listener.dropped).toEqual(['stranger'])
  expect(known.closed).toBe(false)
})
