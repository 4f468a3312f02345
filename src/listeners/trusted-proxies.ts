import { BlockList, isIP, type Socket } from 'node:net'
import type { Endpoints } from './connections.ts'
import { peerOf } from './peer.ts'

const BRACKETED = /^\[([^\]]+)\](?::\d+)?$/
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** A request, as far as it tells who asks. */
export interface Forwarded {
  readonly socket: Endpoints
  readonly headers: { readonly [name: string]: string | string[] | undefined }
}

/** More proxies in a row than these are nobody's. */
const MOST_HOPS = 32

/**
 * Tells who asks where a proxy asks for others: by what its connection began with in the PROXY protocol, and by `X-Forwarded-For`,
 * which are believed of the listed proxies alone. That header is read from its end: the first address there that is no
 * proxy's is who asks, and what stands before it may be made up.
 */
export class TrustedProxies {
  readonly #trusted = new BlockList()
  /** Who connects through a proxy, by the proxy's end of the connection. */
  readonly #connected = new Map<string, string>()

  /** Of addresses, and ranges of them such as 10.0.0.0/8. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(bits), family)
    }
  }

  /** By what the peer counts who asks. */
  peerOf({ socket, headers }: Forwarded): string {
    let address = this.#connected.get(endOf(socket)) ?? socket.remoteAddress
    const header = headers['x-forwarded-for']
    if (header === undefined || !this.isTrusted(address)) return peerOf(address)
    const hops = String(header).split(',').slice(-MOST_HOPS)
    while (hops.length > 0 && this.isTrusted(address)) {
      const before = bareAddress(hops.pop() ?? '')
      // What is no address was written by somebody who is not to be believed.
      if (before === undefined) break
      address = before
    }
    return peerOf(address)
  }

  /** A proxy's connection says that it is this address that connects; until the connection ends. */
  connects(socket: Socket, address: string): void {
    const end = endOf(socket)
    this.#connected.set(end, address)
    socket.once('close', () => this.#connected.delete(end))
  }

  isTrusted(address = ''): boolean {
    const bare = MAPPED.exec(address)?.[1] ?? address.replace(/%.*$/, '')
    const family = isIP(bare)
    return family !== 0 && this.#trusted.check(bare, family === 4 ? 'ipv4' : 'ipv6')
  }
}

/** The same on both sides of encryption. */
function endOf({ remoteAddress = '', remotePort = 0 }: Endpoints): string {
  return `${remoteAddress} ${remotePort}`
}

function bareAddress(written: string): string | undefined {
  const text = written.trim()
  const bare = BRACKETED.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text
  return isIP(bare) === 0 ? undefined : bare
}
