import type { Server, Socket } from 'node:net'
import type { TrustedProxies } from './trusted-proxies.ts'

const V2_SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const V2_FIXED_BYTES = 16
/** What a header of version 2 may have after its fixed part: addresses and whatever a proxy adds. */
const V2_MOST_BYTES = 4096
const V1_MOST_BYTES = 107
const IPV4 = { family: 1, bytes: 4 }
const IPV6 = { family: 2, bytes: 16 }
/** How long a proxy may take to say who connects, in milliseconds. */
const WITHIN_MS = 5_000

/** A header of the PROXY protocol, and how many bytes it has. `address` is left out where the proxy speaks for itself. */
export interface ProxyHeader {
  readonly address?: string
  readonly bytes: number
}

/**
 * Reads the header of the PROXY protocol, version 1 or 2 (haproxy.org/download/3.2/doc/proxy-protocol.txt), with which a connection
 * begins. 'more' where more bytes are needed; undefined where it begins with something else.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'more' | undefined {
  const isV2 = V2_SIGNATURE.subarray(0, bytes.length).equals(bytes.subarray(0, V2_SIGNATURE.length))
  return isV2 ? readV2(bytes) : readV1(bytes)
}

function readV1(bytes: Buffer): ProxyHeader | 'more' | undefined {
  const text = bytes.toString('latin1', 0, V1_MOST_BYTES)
  const end = text.indexOf('\r\n')
  if (end === -1) {
    const mayBe = text.length < V1_MOST_BYTES && 'PROXY '.startsWith(text.slice(0, 6))
    return mayBe ? 'more' : undefined
  }
  const [word, protocol, address] = text.slice(0, end).split(' ')
  if (word !== 'PROXY') return undefined
  if (protocol === 'UNKNOWN') return { bytes: end + 2 }
  if ((protocol !== 'TCP4' && protocol !== 'TCP6') || address === undefined) return undefined
  return { address, bytes: end + 2 }
}

function readV2(bytes: Buffer): ProxyHeader | 'more' | undefined {
  if (bytes.length < V2_FIXED_BYTES) return 'more'
  const [versionAndCommand, familyAndTransport] = [bytes.readUInt8(12), bytes.readUInt8(13)]
  const length = bytes.readUInt16BE(14)
  if (versionAndCommand >> 4 !== 2 || length > V2_MOST_BYTES) return undefined
  const end = V2_FIXED_BYTES + length
  if (bytes.length < end) return 'more'
  const isLocal = (versionAndCommand & 0x0f) === 0
  const known = [IPV4, IPV6].find(({ family }) => family === familyAndTransport >> 4)
  if (isLocal || known === undefined) return { bytes: end }
  if (length < 2 * known.bytes) return undefined
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + known.bytes)
  return { address: known === IPV4 ? source.join('.') : ipv6Text(source), bytes: end }
}

function ipv6Text(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(':')
}

/**
 * Has connections of trusted proxies begin with a header of the PROXY protocol, which tells them who connects. Connections of
 * others begin as they do without it. To be called before anything else wraps what listens for the server's connections;
 * `onFault` is told of a proxy that does not speak the protocol.
 */
export function acceptProxyHeaders(
  server: Server,
  proxies: TrustedProxies,
  onFault: (reason: string) => void = () => undefined,
): void {
  const takers = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  const take = (socket: Socket): void => {
    for (const taker of takers) taker.call(server, socket)
  }
  server.on('connection', (socket: Socket) => {
    if (!proxies.isTrusted(socket.remoteAddress)) take(socket)
    else
      readHeader(socket, {
        onHeader: ({ address }) => {
          if (address !== undefined) proxies.connects(socket, address)
          take(socket)
        },
        onFault,
      })
  })
}

interface HeaderHooks {
  readonly onHeader: (header: ProxyHeader) => void
  readonly onFault: (reason: string) => void
}

function readHeader(socket: Socket, { onHeader, onFault }: HeaderHooks): void {
  let bytes = Buffer.alloc(0)
  const timer = setTimeout(() => socket.destroy(), WITHIN_MS)
  const over = (): void => {
    clearTimeout(timer)
    socket.off('readable', onReadable).off('close', over).off('error', ignore)
  }
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    bytes = Buffer.concat([bytes, chunk])
    const header = readProxyHeader(bytes)
    if (header === 'more') return
    over()
    if (header === undefined) {
      onFault(
        `a connection of the proxy at ${socket.remoteAddress ?? 'an unknown address'} does not begin with a header of the PROXY ` +
          'protocol: have the proxy send one, or take proxy_protocol out',
      )
      socket.destroy()
      return
    }
    const rest = bytes.subarray(header.bytes)
    if (rest.length > 0) socket.unshift(rest)
    onHeader(header)
  }
  const ignore = (): void => undefined
  socket.on('readable', onReadable).on('close', over).on('error', ignore)
}
