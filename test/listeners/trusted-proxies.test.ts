import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { isAddressRange } from '../../src/config/value-kinds.ts'
import { TrustedProxies } from '../../src/platform/trusted-proxies.ts'

const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
const asked = (remoteAddress: string, header?: string): string =>
  proxies.peerOf({
    socket: { remoteAddress },
    headers: header === undefined ? {} : { 'x-forwarded-for': header },
  })

test.each([
  ['198.51.100.7', '203.0.113.1', '198.51.100.7'],
  ['10.0.0.1', undefined, '10.0.0.1'],
  ['10.0.0.1', '203.0.113.1', '203.0.113.1'],
  ['::ffff:10.0.0.1', '203.0.113.1:4711', '203.0.113.1'],
  ['2001:db8::1', '[2001:470::7]:80', '2001:470:0:0::/64'],
  ['10.0.0.1', '203.0.113.1, 192.0.2.1, 10.2.0.1', '203.0.113.1'],
  // What stands before the first address that is not a proxy's may be made up.
  ['10.0.0.1', '198.51.100.66, 203.0.113.1', '203.0.113.1'],
  ['10.0.0.1', 'unknown', '10.0.0.1'],
  ['10.0.0.1', '203.0.113.1, nonsense, 10.2.0.1', '10.2.0.1'],
  ['10.0.0.1', '', '10.0.0.1'],
])('from %s with X-ForwardedRequest-For %s it is %s who asks', (from, header, peer) => {
  expect(asked(from, header)).toBe(peer)
})

test('nobody who is no proxy is believed, whatever is written', () => {
  const written = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())).map((some) => some.join(', ')),
  )
  fc.assert(fc.property(written, (header) => expect(asked('198.51.100.7', header)).toBe('198.51.100.7')))
})

test('whoever asks through a proxy cannot choose who it is', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.ipV4(), fc.string())), (made) => {
      expect(asked('10.0.0.1', [...made, '203.0.113.1'].join(','))).toBe('203.0.113.1')
    }),
  )
})

test('two connections from one port to two addresses of a listener have a client each', async () => {
  const some = new TrustedProxies(['127.0.0.0/8'])
  const accepted: Socket[] = []
  const server = createServer((socket) => accepted.push(socket))
  const { promise: listens, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '0.0.0.0', () => resolve(undefined))
  await listens
  const { port } = server.address() as AddressInfo
  const opened: Socket[] = []
  const open = async (host: string, localPort: number): Promise<Socket> => {
    const arrives = new Promise((arrived) => server.once('connection', arrived))
    opened.push(connect({ host, port, localAddress: '127.0.0.1', localPort }))
    await arrives
    const socket = accepted.at(-1)
    if (socket === undefined) throw new Error('nothing was accepted')
    return socket
  }
  try {
    const one = await open('127.0.0.1', 0)
    const other = await open('127.0.0.2', one.remotePort ?? 0)
    expect(other.remotePort).toBe(one.remotePort)
    some.connects(one, '203.0.113.1')
    some.connects(other, '203.0.113.2')
    expect([one, other].map((socket) => some.peerOf({ socket, headers: {} }))).toEqual([
      '203.0.113.1',
      '203.0.113.2',
    ])
    const closed = new Promise((resolve) => other.once('close', resolve))
    other.destroy()
    await closed
    expect(some.peerOf({ socket: one, headers: {} })).toBe('203.0.113.1')
  } finally {
    for (const socket of [...opened, ...accepted]) socket.destroy()
    server.close()
  }
})

test.each([
  ['10.0.0.0/8', true],
  ['::1', true],
  ['2001:db8::/32', true],
  ['10.0.0.0/33', false],
  ['10.0.0.0/', false],
  ['proxy.example', false],
  ['', false],
])('whether %s is an address or a range of them: %s', (text, is) => {
  expect(isAddressRange(text)).toBe(is)
})
