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
  await using door = await listening({ max: 2 })
  const [first] = [await door.from(HERE), await door.from(HERE), await door.from(HERE), await door.from(HERE)]
  expect(door.dropped).toEqual([])
  await door.from(HERE)
  await closed(first)
  expect([door.dropped, door.connections.size]).toEqual([['limit'], 4])
})

test('where every connection has a request under way a newcomer is shown to nobody', async () => {
  await using door = await listening({ max: 1 })
  for (let at = 0; at < 2; at++) await door.from(HERE)
  expect(door.connections.begin(door.shown[0]!).kind).toBe('begun')
  expect(door.connections.begin(door.shown[1]!)).toEqual({ kind: 'refused', reason: 'address' })
  const idle = door.shown[1]!
  await door.from(HERE)
  await closed(idle)
  expect(door.shown).toHaveLength(3)
})

onLinux('a newcomer for whom nobody goes is told so when it asks, and leaves then', async () => {
  await using door = await listening({ max: 1 })
  await door.from(HERE)
  expect(door.connections.begin(door.shown[0]!).kind).toBe('begun')
  const idle = await door.from(ELSEWHERE)
  const newcomer = await door.from(HERE)
  await new Promise((resolve) => setImmediate(resolve))
  expect([door.shown.length, door.connections.size]).toEqual([3, 2])
  expect(door.connections.begin(door.shown[2]!)).toEqual({ kind: 'refused', reason: 'address' })
  await closed(newcomer)
  expect([idle.closed, door.dropped, door.connections.size]).toEqual([false, ['limit', 'address'], 2])
})

onLinux('newcomers who are told that nobody goes for them keep nobody else out', async () => {
  await using door = await listening({ max: 1 })
  await door.from(HERE)
  door.connections.begin(door.shown[0]!)
  const idle = await door.from(ELSEWHERE)
  for (let at = 0; at < 100; at++) await door.from(HERE)
  expect(door.shown.length).toBeLessThan(100)
  const other = await door.from(ELSEWHERE)
  await closed(idle)
  expect([other.closed, door.connections.size]).toEqual([false, 2])
})

onLinux('from elsewhere there is a place however many one address has', async () => {
  await using door = await listening({ max: 2, maxPerAddress: 1 })
  const first = await door.from(HERE)
  for (let at = 0; at < 3; at++) await door.from(HERE)
  const other = await door.from(ELSEWHERE)
  await closed(first)
  expect([other.closed, door.connections.size]).toEqual([false, 4])
})

test('a stranger that shows nothing in time is closed', async () => {
  await using door = await listening({ max: 10, credentialWithinMs: 20 })
  const first = door.from(HERE)
  const known = await first
  door.connections.known(door.shown[0]!)
  await closed(await door.from(HERE))
  expect(door.dropped).toEqual(['stranger'])
  expect(known.closed).toBe(false)
})
