import { BlockList, isIP } from 'node:net'
import { peerOf } from './peer.ts'

const BRACKETED = /^\[([^\]]+)\](?::\d+)?$/
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
/** A request, as far as it tells who asks. */
export interface Forwarded {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: { readonly [name: string]: string | string[] | undefined }
}

/** More proxies in a row than these are nobody's. */
const MOST_HOPS = 32

/**
 * Tells who asks where a proxy asks for others: by `X-Forwarded-For`, which is believed of the listed proxies alone. It is read from its
 * end: the first address there that is no proxy's is who asks, and what stands before it may be made up.
 */
export class TrustedProxies {
  readonly #trusted = new BlockList()

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
    let address = socket.remoteAddress
    const header = headers['x-forwarded-for']
    if (header === undefined || !this.#isTrusted(address)) return peerOf(address)
    const hops = String(header).split(',').slice(-MOST_HOPS)
    while (hops.length > 0 && this.#isTrusted(address)) {
      const before = bareAddress(hops.pop() ?? '')
      // What is no address was written by somebody who is not to be believed.
      if (before === undefined) break
      address = before
    }
    return peerOf(address)
  }

  #isTrusted(address = ''): boolean {
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
