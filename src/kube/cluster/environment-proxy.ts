import { BlockList, isIP } from 'node:net'
import { isLoopback } from '../../model/untrusted-names.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * The proxy of the environment that kubectl would use for a server; empty for none. Node reads `NO_PROXY` differently: it supports no
 * CIDR ranges, and a domain does not match its subdomains.
 */
export function environmentProxy({ protocol, hostname, port }: URL, env: Env = process.env): string {
  const [proxy, usualPort] =
    protocol === 'https:'
      ? [env['HTTPS_PROXY'] || env['https_proxy'], '443']
      : [env['HTTP_PROXY'] || env['http_proxy'], '80']
  if (!proxy) return ''
  const host = hostname.toLowerCase().replaceAll(/^\[|\]$/g, '')
  const exceptions = (env['NO_PROXY'] || env['no_proxy'] || '').toLowerCase().split(',')
  const isDirect = isLoopback(host) || exceptions.some((one) => fits(one.trim(), host, port || usualPort))
  if (isDirect) return ''
  return /^[a-z][a-z\d+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`
}

/** Whether an entry of `NO_PROXY` matches a host: `*`, a CIDR range, an address or a domain, the last two optionally with a port. */
function fits(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, network = '', bits] = /^([\d.a-f:]+)\/(\d+)$/.exec(entry) ?? []
  if (bits !== undefined) return isWithin(host, network, Number(bits))
  const [, named = entry, onlyPort = ''] =
    /^(\[[^\]]*\]|[^:]*):(.*)$/.exec(isIP(entry) === 0 ? entry : '') ?? []
  if (onlyPort !== '' && onlyPort !== port) return false
  const bare = named.replaceAll(/^\[|\]$/g, '')
  if (isIP(bare) !== 0) return isWithin(host, bare)
  const domain = bare.replace(/^\*?\./, '')
  return domain !== '' && (host.endsWith(`.${domain}`) || (domain === bare && host === domain))
}

/** Whether the host is in the network of `bits` bits; without `bits`, whether it is that address. */
function isWithin(host: string, network: string, bits?: number): boolean {
  const version = isIP(network)
  if (version === 0 || isIP(host) !== version || (bits ?? 0) > (version === 4 ? 32 : 128)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const addresses = new BlockList()
  if (bits === undefined) addresses.addAddress(network, family)
  else addresses.addSubnet(network, bits, family)
  return addresses.check(host, family)
}
