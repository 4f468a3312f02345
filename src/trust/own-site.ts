import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { isAllowedOrigin, type CorsSettings } from './cors.ts'
import { bareHost, isLoopback } from '../model/host-names.ts'

/**
 * Whether a Host header names a server by what nobody else can give it as a name (DNS rebinding): an address, localhost, or
 * the name it listens at, which is `host`.
 */
export function isOwnName(host: string, header: string | undefined): boolean {
  const name = bareHost(header ?? '')
  return isIP(name) !== 0 || name === 'localhost' || name === bareHost(host)
}

/**
 * Whether a request was sent by a page that somebody has made look as if it came from this server, by a name of theirs that
 * leads here. Pages of other origins are the browser's to stop, by `cors`; programs name no origin.
 */
export function isDnsRebinding(
  host: string,
  headers: IncomingHttpHeaders,
  cors: CorsSettings | undefined,
): boolean {
  const { origin } = headers
  if (origin === undefined || isOwnName(host, headers.host)) return false
  if (cors !== undefined && isAllowedOrigin(cors, origin)) return false
  return origin === 'null' || URL.parse(origin)?.host === headers.host?.toLowerCase()
}

/**
 * Whether a request for what programs read, such as metrics, was sent by a page: of another origin, or by a name that is not
 * this server's. Listening on this machine alone it has no other names; listening wider, programs may call it by any, and
 * browsers, which tell of themselves, by its address.
 */
export function isFromPage(host: string, headers: IncomingHttpHeaders): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'user-agent': agent = '' } = headers
  if (!isOwnName(host, headers.host)) {
    const isBrowser = origin !== undefined || site !== undefined || /^mozilla\//i.test(agent)
    if (isLoopback(host) || isBrowser) return true
  }
  if (origin !== undefined && URL.parse(origin)?.host !== headers.host?.toLowerCase()) return true
  return (site === 'cross-site' || site === 'same-site') && mode !== 'navigate'
}
