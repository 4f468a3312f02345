import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Authenticator } from '../trust/authenticator.ts'
import { applyCors, isAllowedOrigin, type CorsSettings } from '../trust/cors.ts'
import { bareHost, isLoopback } from '../model/host-names.ts'
import { isOwnName } from '../trust/own-site.ts'
import { matchesPattern } from '../model/senders/matches-pattern.ts'
import { sendFailure } from './reply.ts'
import { ownValue } from '../model/own-value.ts'

const NEVER_FRAMED = "default-src 'none'; frame-ancestors 'none'"
/** What a browser says of a request for something inside another page. */
const EMBEDDED: ReadonlySet<string> = new Set(['iframe', 'frame', 'fencedframe', 'embed', 'object'])

export interface GateSettings {
  host: string
  /** Whoever it does not know is turned away; the server does not dispose of it. */
  authenticator?: Authenticator
  /** Which pages of other origins may ask; without it none may. */
  cors?: CorsSettings
  /** By which names the server may be called besides its own, addresses and localhost; `*` stands for anything. */
  allowedHosts?: readonly string[]
  /** From where a request is asked. */
  peerOf: (request: IncomingMessage) => string
  /** Told of every request without a credential that is known. */
  onTurnedAway?: (reason: string) => void
  /** Told of every connection on which a credential was shown that is known. */
  onKnown?: (connection: Socket) => void
}

/**
 * Lets a request in, or answers it. Pages of other sites get nothing, not even by calling this server by a name of their
 * own (DNS rebinding): the API only answers, so that there is nothing else a request could be forged for.
 */
export async function admitRequest(
  settings: GateSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { cors, authenticator } = settings
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('X-Frame-Options', 'DENY')
  response.setHeader('Content-Security-Policy', NEVER_FRAMED)
  if (!isAName(settings, request.headers.host)) {
    sendFailure(response, 'unknownHost')
    return false
  }
  if (cors === undefined) response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
  else if (applyCors(cors, request, response, 'GET')) {
    response.writeHead(204).end()
    return false
  }
  if (isFromElsewhere(cors, request)) {
    sendFailure(response, 'crossSite')
    return false
  }
  return authenticator === undefined || (await isKnown(authenticator, settings, request, response))
}

/** Listening wider than this machine, one can be called by names that nobody here knows, unless they are listed. */
function isAName({ host, allowedHosts = [] }: GateSettings, header: string | undefined): boolean {
  if (isOwnName(host, header)) return true
  const name = bareHost(header ?? '')
  if (allowedHosts.some((pattern) => matchesPattern(pattern.toLowerCase(), name))) return true
  return allowedHosts.length === 0 && !isLoopback(host)
}

/**
 * A page of another origin that asks by itself gets nothing. Following a link from elsewhere leads to the page alone, since
 * an answer of the API may cost much; whoever writes an address into the browser gets what is there.
 */
function isFromElsewhere(cors: CorsSettings | undefined, { headers, url = '/' }: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
  if (EMBEDDED.has(String(destination))) return true
  if (origin !== undefined) {
    const isOwn = URL.parse(origin)?.host === headers.host?.toLowerCase()
    return !isOwn && !(cors !== undefined && isAllowedOrigin(cors, origin))
  }
  if (site !== 'cross-site' && site !== 'same-site') return false
  return mode !== 'navigate' || isForPrograms(url)
}

/** Whether a request is for an answer of the API, and not for the page or its files. A target that cannot be read is. */
export function isForPrograms(target: string): boolean {
  const path = URL.parse(target, 'http://causeway')?.pathname ?? '/api'
  return /^\/(?:api|jaeger|tempo)(?:\/|$)/.test(path)
}

async function isKnown(
  authenticator: Authenticator,
  { onTurnedAway, onKnown, peerOf }: GateSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const value = ownValue(request.headers, authenticator.header)
  const checked = await authenticator.check(typeof value === 'string' ? value : undefined, peerOf(request))
  if (checked.kind === 'known') {
    onKnown?.(request.socket)
    return true
  }
  if (checked.kind === 'busy') {
    response.setHeader('Retry-After', Math.ceil(checked.retryAfterMs / 1000))
    sendFailure(response, 'busy')
    return false
  }
  onTurnedAway?.(checked.reason)
  response.setHeader('WWW-Authenticate', authenticator.challenge)
  sendFailure(response, 'unauthenticated')
  return false
}
