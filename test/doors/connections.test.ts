import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Connections, type ConnectionLimits, type DropReason } from '../../src/doors/connections.ts'

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

onLinux('one address has so many connections and no more; others have theirs', async () => {
  await using door = await listening({ max: 10, maxPerAddress: 2 })
  const first = await door.from(HERE)
  await door.from(HERE)
  await closed(await door.from(HERE))
  expect(door.dropped).toEqual(['address'])
  expect(door.connections.size).toBe(2)
  await door.from(ELSEWHERE)
  expect(door.connections.size).toBe(3)

  first.destroy()
  while (door.connections.size > 2) await new Promise((resolve) => setImmediate(resolve))
  await door.from(HERE)
  expect(door.connections.size).toBe(3)
  expect(door.dropped).toEqual(['address'])
})

test('whoever is turned away is shown to nobody', async () => {
  await using door = await listening({ max: 10, maxPerAddress: 1 })
  await door.from(HERE)
  await closed(await door.from(HERE))
  expect([door.dropped, door.shown.length]).toEqual([['address'], 1])
})

test('who leaves gives back the place it had, of its address and among strangers', async () => {
  await using door = await listening({
    max: 10,
    maxPerAddress: 2,
    strangers: { max: 2, withinMs: 60_000 },
  })
  const only = await door.from(HERE)
  only.destroy()
  while (door.connections.size > 0) await new Promise((resolve) => setImmediate(resolve))
  await door.from(HERE)
  await door.from(HERE)
  expect([door.dropped, door.connections.size]).toEqual([[], 2])
})

test('beyond the limit nobody is let in, and those that are in stay', async () => {
  await using door = await listening({ max: 2 })
  await door.from(HERE)
  await door.from(HERE)
  await closed(await door.from(HERE))
  expect(door.dropped).toEqual(['limit'])
  expect(door.connections.size).toBe(2)
})

onLinux(
  'where room is made, the first one goes of the address that has most, unless the newcomer has as many',
  async () => {
    await using door = await listening({ max: 4, makesRoom: true })
    const first = await door.from(HERE)
    const others = [await door.from(HERE), await door.from(HERE), await door.from(HERE)]
    await closed(await door.from(HERE))
    expect(first.closed).toBe(false)
    const newcomer = await door.from(ELSEWHERE)
    await closed(first)
    const second = await door.from(ELSEWHERE)
    await closed(others[0]!)
    await closed(await door.from(ELSEWHERE))
    expect(door.dropped).toEqual(['limit', 'limit', 'limit', 'limit'])
    expect([newcomer, second, others[1]!, others[2]!].map((socket) => socket.closed)).toEqual([
      false,
      false,
      false,
      false,
    ])
    expect(door.connections.size).toBe(4)
  },
)

onLinux('when strangers are too many the first one goes of the address that has most', async () => {
  await using door = await listening({ max: 10, strangers: { max: 3, withinMs: 60_000 } })
  const other = await door.from(ELSEWHERE)
  const first = await door.from(HERE)
  const second = await door.from(HERE)
  const third = await door.from(HERE)
  await closed(first)
  await door.from(HERE)
  await closed(second)
  expect(door.dropped).toEqual(['stranger', 'stranger'])
  expect([other.closed, third.closed]).toEqual([false, false])
})

test('whoever has shown a credential stays, and strangers have its place', async () => {
  await using door = await listening({ max: 10, strangers: { max: 1, withinMs: 60_000 } })
  const known = await door.from(HERE)
  door.connections.known(door.shown[0]!)
  const stranger = await door.from(HERE)
  await door.from(HERE)
  await closed(stranger)
  expect(known.closed).toBe(false)
  expect(door.connections.size).toBe(2)
})

test('a stranger that shows nothing in time is closed', async () => {
  await using door = await listening({ max: 10, strangers: { max: 5, withinMs: 20 } })
  const first = door.from(HERE)
  const known = await first
  door.connections.known(door.shown[0]!)
  await closed(await door.from(HERE))
  expect(door.dropped).toEqual(['stranger'])
  expect(known.closed).toBe(false)
})
