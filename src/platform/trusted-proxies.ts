import { BlockList, isIP, type Server, type Socket } from 'node:net'
import { connectionKey, type Endpoints, peerOf } from './connections.ts'

const BRACKETED = /^\[([^\]]+)\](?::\d+)?$/
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** The part of a request that identifies the client. */
interface Forwarded {
  readonly socket: Endpoints
  readonly headers: { readonly [name: string]: string | string[] | undefined }
}

/** The longest chain of proxies. */
const MOST_HOPS = 32

/**
 * Finds the client behind a proxy: by the PROXY protocol and by `X-Forwarded-For`, both trusted only from the listed proxies. The
 * header is read from its end: the first address that is not a proxy is the client; what precedes it may be forged.
 */
export class TrustedProxies {
  readonly #trusted = new BlockList()
  /** The client of each PROXY protocol connection. */
  readonly #connected = new Map<string, string>()

  /** Takes addresses, and ranges such as 10.0.0.0/8. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(bits), family)
    }
  }

  /** The client as limits count it (peerOf). */
  peerOf({ socket, headers }: Forwarded): string {
    let address = this.#connected.get(connectionKey(socket)) ?? socket.remoteAddress
    const header = headers['x-forwarded-for']
    if (header === undefined || !this.isTrusted(address)) return peerOf(address)
    const hops = String(header).split(',').slice(-MOST_HOPS)
    while (hops.length > 0 && this.isTrusted(address)) {
      const before = bareAddress(hops.pop() ?? '')
      // An invalid address was not written by a trusted proxy.
      if (before === undefined) break
      address = before
    }
    return peerOf(address)
  }

  /** Notes the client of a PROXY protocol connection until that ends. */
  connects(socket: Socket, address: string): void {
    const connection = connectionKey(socket)
    this.#connected.set(connection, address)
    socket.once('close', () => this.#connected.delete(connection))
  }

  isTrusted(address = ''): boolean {
    const bare = MAPPED.exec(address)?.[1] ?? address.replace(/%.*$/, '')
    const family = isIP(bare)
    return family !== 0 && this.#trusted.check(bare, family === 4 ? 'ipv4' : 'ipv6')
  }
}

function bareAddress(written: string): string | undefined {
  const text = written.trim()
  const bare = BRACKETED.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text
  return isIP(bare) === 0 ? undefined : bare
}

const V2_SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const V2_FIXED_BYTES = 16
/** The most bytes after the fixed part of a version 2 header. */
const V2_MOST_BYTES = 4096
const V1_MOST_BYTES = 107
const IPV4 = { family: 1, bytes: 4 }
const IPV6 = { family: 2, bytes: 16 }
/** How long a proxy may take to send the header, in milliseconds. */
const WITHIN_MS = 5_000

/** A PROXY protocol header and its length. Without `address` the proxy itself is the client. */
interface ProxyHeader {
  readonly address?: string
  readonly bytes: number
}

/**
 * Reads the header of the PROXY protocol, version 1 or 2 (haproxy.org/download/3.2/doc/proxy-protocol.txt), with which a connection
 * begins. 'more' if more bytes are needed; undefined if it begins with something else.
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
 * Expects a PROXY protocol header at the beginning of connections of trusted proxies, but not of others. Call it before anything else
 * wraps the server's connection listeners; `onFault` is called for a proxy that does not send the header.
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
  readBeginning(socket, WITHIN_MS, (bytes) => {
    const header = readProxyHeader(bytes)
    if (header === 'more') return undefined
    return () => {
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
  })
}

/**
 * Reads the first bytes of a connection until `decide` returns what to do, then does that. Closes it after `withinMs`, or when the client
 * has ended it.
 */
export function readBeginning(
  socket: Socket,
  withinMs: number | undefined,
  decide: (bytes: Buffer) => (() => void) | undefined,
): void {
  let bytes = Buffer.alloc(0)
  const giveUp = (): void => void socket.destroy()
  const timer = setTimeout(giveUp, withinMs)
  const end = (): void => {
    clearTimeout(timer)
    socket.off('readable', onReadable).off('end', giveUp).off('close', end).off('error', ignore)
  }
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) return
    bytes = Buffer.concat([bytes, chunk])
    const decided = decide(bytes)
    if (decided === undefined) return
    end()
    decided()
  }
  const ignore = (): void => undefined
  socket.on('readable', onReadable).on('end', giveUp).on('close', end).on('error', ignore)
}
