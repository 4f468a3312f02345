import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  Command,
  INETProtocol,
  IPv4Address,
  IPv4ProxyAddress,
  IPv6Address,
  IPv6ProxyAddress,
  Peer,
  TransportProtocol,
  UnspecProxyAddress,
  V1ProxyProtocol,
  V2ProxyProtocol,
} from 'proxy-protocol-js'
import { Authority } from '../../lab/harness/certificates.ts'
import { peerOf } from '../../src/platform/connections.ts'
import { readProxyHeader } from '../../src/platform/trusted-proxies.ts'
import { type QueryServerSettings, startQueryServer } from '../../src/query/http/query-server.ts'
import type { QueryService } from '../../src/query/question.ts'

const PORT = 4711

/** A header as a well-known program writes it, and who it says connects. */
const headers: fc.Arbitrary<{ bytes: Buffer; address: string | undefined }> = fc.oneof(
  fc.ipV4().map((address) => ({
    address,
    bytes: Buffer.from(
      new V1ProxyProtocol(INETProtocol.TCP4, new Peer(address, PORT), new Peer('192.0.2.1', 80)).build(),
    ),
  })),
  fc.ipV6().map((address) => ({
    address,
    bytes: Buffer.from(
      new V1ProxyProtocol(INETProtocol.TCP6, new Peer(address, PORT), new Peer('2001:db8::1', 80)).build(),
    ),
  })),
  fc.constant({
    address: undefined,
    bytes: Buffer.from(
      new V2ProxyProtocol(Command.PROXY, TransportProtocol.UNSPEC, new UnspecProxyAddress()).build(),
    ),
  }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((own) => ({
    address: Array.from({ length: 8 }, (_, at) =>
      Buffer.from(own)
        .readUInt16BE(2 * at)
        .toString(16),
    ).join(':'),
    bytes: Buffer.from(
      new V2ProxyProtocol(
        Command.PROXY,
        TransportProtocol.STREAM,
        new IPv6ProxyAddress(
          IPv6Address.createFrom([...own]),
          PORT,
          IPv6Address.createWithEmptyAddress(),
          80,
        ),
      ).build(),
    ),
  })),
  fc.constant({ address: undefined, bytes: Buffer.from('PROXY UNKNOWN\r\n') }),
  fc.tuple(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.boolean()).map(([own, isLocal]) => ({
    address: isLocal ? undefined : own.join('.'),
    bytes: Buffer.from(
      new V2ProxyProtocol(
        isLocal ? Command.LOCAL : Command.PROXY,
        TransportProtocol.STREAM,
        new IPv4ProxyAddress(
          IPv4Address.createFrom([...own] as [number, number, number, number]),
          PORT,
          IPv4Address.createFrom([192, 0, 2, 1]),
          80,
        ),
      ).build(),
    ),
  })),
)

test('a header is read however it is cut, and nothing after it', () => {
  fc.assert(
    fc.property(headers, fc.uint8Array({ maxLength: 40 }), ({ bytes, address }, after) => {
      for (let length = 0; length < bytes.length; length++)
        expect(readProxyHeader(bytes.subarray(0, length))).toBe('more')
      expect(readProxyHeader(Buffer.concat([bytes, after]))).toEqual({
        bytes: bytes.length,
        ...(address !== undefined && { address }),
      })
    }),
  )
})

test('what is no header is refused as soon as that is known, and none is longer than it may be', () => {
  for (const text of [
    'GET / HTTP/1.1\r\n',
    'PROXY TCP9 1.2.3.4 1.2.3.4 1 2\r\n',
    'PROXY\r\n',
    'PROXY '.padEnd(200, 'x'),
  ])
    expect(readProxyHeader(Buffer.from(text))).toBeUndefined()
  const long = Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a2111ffff', 'hex'), Buffer.alloc(100)])
  expect(readProxyHeader(long)).toBeUndefined()
})

/** Says who asked, and knows nothing. */
function asking(): { queries: QueryService; asked: (string | undefined)[] } {
  const asked: (string | undefined)[] = []
  const ask: QueryService['ask'] = (_question, _known, _gone, asker) => {
    asked.push(asker?.address)
    return Promise.resolve({ kind: 'unknown' })
  }
  return { queries: { ask }, asked }
}

const start = (settings: Partial<QueryServerSettings> & { queries: QueryService }) =>
  startQueryServer({
    host: '127.0.0.1',
    port: 0,
    about: { version: '1', traceUrl: undefined },
    trustedProxies: ['127.0.0.1'],
    proxyProtocol: true,
    ...settings,
  })

const REQUEST = `GET /api/v1/cpids/00000000-0000-4000-8000-000000000001 HTTP/1.1\r\nhost: localhost\r\n`
const LAST = `${REQUEST}connection: close\r\n\r\n`

async function textFrom(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

/** Writes parts one after the other, each once the one before has left. */
async function write(socket: Socket, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) await new Promise<void>((resolve) => socket.write(part, () => resolve()))
}

test('whoever connects through a proxy is who the header says, however it and the request are cut', async () => {
  const { queries, asked } = asking()
  await using server = await start({ queries })
  await fc.assert(
    fc.asyncProperty(headers, fc.nat(), fc.nat(), async ({ bytes, address }, first, second) => {
      asked.length = 0
      const whole = Buffer.concat([bytes, Buffer.from(`${REQUEST}\r\n${LAST}`)])
      const cuts = [first % whole.length, second % whole.length].toSorted((a, b) => a - b)
      const parts = [whole.subarray(0, cuts[0]), whole.subarray(cuts[0], cuts[1]), whole.subarray(cuts[1])]
      const socket = connect(server.port, '127.0.0.1')
      const text = textFrom(socket)
      await write(socket, parts)
      expect((await text).match(/^HTTP\/1.1 404/gm)).toHaveLength(2)
      const who = peerOf(address ?? '127.0.0.1')
      expect(asked).toEqual([who, who])
    }),
    { numRuns: 50 },
  )
})

test.each(['with', 'before'] as const)(
  'the header comes in clear text %s the first bytes of an encrypted connection',
  async (when) => {
    const authority = new Authority()
    const own = authority.issue()
    const { queries, asked } = asking()
    await using server = await start({ queries, tls: { certPem: own.cert, keyPem: own.key } })
    const header = Buffer.from('PROXY TCP4 203.0.113.7 127.0.0.1 4711 443\r\n')
    const sockets: Socket[] = []
    const proxy = createServer((client) => {
      const toServer = connect(server.port, '127.0.0.1')
      sockets.push(client, toServer)
      client.once('data', (first: Buffer) => {
        void write(toServer, when === 'with' ? [Buffer.concat([header, first])] : [header, first])
        client.pipe(toServer).pipe(client)
      })
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const { port } = proxy.address() as AddressInfo
    const secured = connectTls({ port, host: '127.0.0.1', ca: authority.cert, servername: 'localhost' })
    secured.write(LAST)
    expect(await textFrom(secured)).toMatch(/^HTTP\/1.1 404/)
    expect(asked).toEqual(['203.0.113.7'])
    for (const socket of sockets) socket.destroy()
    proxy.close()
    await once(proxy, 'close')
  },
)

test('others begin without a header, and none of theirs is believed', async () => {
  const { queries, asked } = asking()
  await using server = await start({ queries, trustedProxies: ['203.0.113.1'] })
  const plain = connect(server.port, '127.0.0.1')
  plain.write(LAST)
  expect(await textFrom(plain)).toMatch(/^HTTP\/1.1 404/)
  const pretender = connect(server.port, '127.0.0.1')
  pretender.write(`PROXY TCP4 203.0.113.7 127.0.0.1 4711 80\r\n${LAST}`)
  expect(await textFrom(pretender)).toMatch(/^HTTP\/1.1 400/)
  expect(asked).toEqual(['127.0.0.1'])
})

test('a proxy that sends no header is told of, and its connection ends', async () => {
  const notices: string[] = []
  const { queries, asked } = asking()
  await using server = await start({ queries, onNotice: (reason) => notices.push(reason) })
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(LAST)
  await once(socket, 'close')
  expect(asked).toEqual([])
  expect(notices).toEqual([expect.stringContaining('take proxy_protocol out')])
})
