import { isIPv6 } from 'node:net'

const PREFIX_GROUPS = 4
const GROUPS = 8
const MAPPED = /^(?:::ffff:)(\d+\.\d+\.\d+\.\d+)$/i

/**
 * What counts as one peer: an IPv4 address, or the first 64 bits of an IPv6 one, since whoever has one of those commonly has
 * all that begin with them (RFC 6177).
 */
export function peerOf(address: string | undefined): string {
  if (address === undefined) return ''
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [before = '', after] = address.replace(/%.*$/, '').split('::', 2)
  const head = groupsOf(before)
  const tail = groupsOf(after ?? '')
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, GROUPS - head.length - tail.length)).fill('0')
  return `${[...head, ...zeros, ...tail].slice(0, PREFIX_GROUPS).join(':')}::/64`
}

const groupsOf = (text: string): string[] => text.split(':').filter((group) => group !== '')
