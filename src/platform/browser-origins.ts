import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { CorsSettings } from '../model/connection-settings.ts'
import { bareHost, isLoopback } from '../model/untrusted-names.ts'

/**
 * Whether a Host header is safe from DNS rebinding: an address, localhost, or `host`, the name that the server listens at.
 */
export function isOwnName(host: string, header: string | undefined): boolean {
  const name = bareHost(header ?? '')
  return isIP(name) !== 0 || name === 'localhost' || name === bareHost(host)
}

/**
 * Whether a page sent the request by DNS rebinding, under a foreign name that resolves to this server. The browser stops pages of
 * other origins by `cors`; programs send no Origin.
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
 * Whether a page of another origin, or under a foreign name, asked for what programs read, such as metrics. On a loopback listener
 * other names are refused; on others, programs may use any name, and browsers, known by their headers, its address.
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

const ALWAYS_ALLOWED = [
  'accept',
  'accept-language',
  'content-language',
  'content-type',
  'origin',
  'x-requested-with',
]

/**
 * Adds the CORS headers of a response to a request with the one method that is taken. Returns true when the request is a
 * preflight, which needs no other answer.
 */
export function applyCors(
  cors: CorsSettings,
  request: IncomingMessage,
  response: ServerResponse,
  taken = 'POST',
): boolean {
  const { origin, 'access-control-request-method': method } = request.headers
  const preflight = request.method === 'OPTIONS' && origin !== undefined && method !== undefined
  response.setHeader(
    'Vary',
    preflight ? 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers' : 'Origin',
  )
  if (origin === undefined || !isAllowedOrigin(cors, origin)) return preflight
  if (preflight && method === taken) allowPreflight(cors, request, response, taken)
  else if (!preflight && cors.exposedHeaders?.length)
    response.setHeader('Access-Control-Expose-Headers', cors.exposedHeaders.join(', '))
  if (cors.allowedOrigins.includes('*')) response.setHeader('Access-Control-Allow-Origin', '*')
  else {
    response.setHeader('Access-Control-Allow-Origin', origin)
    response.setHeader('Access-Control-Allow-Credentials', 'true')
  }
  return preflight
}

/** Whether pages of this origin may read what they ask for. */
export function isAllowedOrigin({ allowedOrigins }: CorsSettings, origin: string): boolean {
  return allowedOrigins.some((pattern) => matches(pattern, origin))
}

function allowPreflight(
  cors: CorsSettings,
  request: IncomingMessage,
  response: ServerResponse,
  taken: string,
): void {
  const asked = (request.headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  const allowed = [...ALWAYS_ALLOWED, ...(cors.allowedHeaders ?? []).map((name) => name.toLowerCase())]
  if (!(allowed.includes('*') || asked.every((name) => allowed.includes(name)))) return
  response.setHeader('Access-Control-Allow-Methods', taken)
  if (asked.length > 0) response.setHeader('Access-Control-Allow-Headers', asked.join(', '))
  if (cors.maxAgeSeconds) response.setHeader('Access-Control-Max-Age', cors.maxAgeSeconds)
}

function matches(pattern: string, origin: string): boolean {
  const [before = '', after] = pattern.toLowerCase().split('*', 2)
  const subject = origin.toLowerCase()
  if (after === undefined) return subject === before
  return (
    subject.length >= before.length + after.length && subject.startsWith(before) && subject.endsWith(after)
  )
}
