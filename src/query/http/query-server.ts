import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { extname, join } from 'node:path'
import type { CorsSettings, ServerTlsSettings } from '../../model/connection-settings.ts'
import { errorText } from '../../model/faults.ts'
import { bareHost, isLoopback, matchesPattern, ownValue } from '../../model/untrusted-names.ts'
import type { Clock } from '../../model/time-and-size.ts'
import { applyCors, isAllowedOrigin, isOwnName } from '../../platform/browser-origins.ts'
import type { ConnectionLimits, Endpoints } from '../../platform/connections.ts'
import type { Authenticator } from '../../platform/credentials.ts'
import {
  ALPN_OF_BOTH,
  divertHttp2,
  endUnread,
  HTTP_SERVER_TIMEOUTS,
  listen,
  type ListenAddress,
  type ListenerOptions,
  type Listening,
} from '../../platform/http-listener.ts'
import { systemClock } from '../../platform/system-clock.ts'
import { followCertificates, openServerTls } from '../../platform/tls.ts'
import { readInPieces } from '../../platform/pipelined-requests.ts'
import { acceptProxyHeaders, TrustedProxies } from '../../platform/trusted-proxies.ts'
import { type Asker, type QueryService, UnreadAnswer } from '../question.ts'
import { LazyGrpcHandler, type OpenGrpcHandler } from './grpc-connections.ts'
import { jaegerDialect, readJaegerRequest } from './jaeger-requests.ts'
import { JSON_TYPE, readEtags, sendBody, sendFailure, sendNotModified, sendText } from './replies.ts'
import type { ServerInfo } from './route.ts'
import { readRequest } from './routes.ts'
import { isTraceDiff, readTempoRequest, readTraceDiff } from './tempo-requests.ts'
import {
  BadParameter,
  decoded,
  type Dialect,
  refused,
  serveTraceRequest,
  TraceApiParameters,
  type TraceRequest,
} from './trace-requests.ts'

export interface QueryServerSettings
  extends ListenAddress, Omit<GateSettings, 'peerOf'>, Omit<ListenerOptions, 'peerOf'> {
  queries: QueryService
  about: ServerInfo
  /** The system clock by default. */
  clock?: Pick<Clock, 'wallMs'>
  /** The folder of the built dashboard; absent, only the API is served. */
  dashboard?: string
  tls?: ServerTlsSettings
  /** Addresses and ranges of proxies whose X-Forwarded-For is trusted; none by default. */
  trustedProxies?: readonly string[]
  /** Whether connections of trusted proxies begin with a PROXY protocol header. */
  proxyProtocol?: boolean
  /** Called with a warning for the operator; questions are still answered. */
  onNotice?: (reason: string) => void
  /** Called for every question that failed, or was answered in part, for a reason on the server's side. */
  onTrouble?: (reason: string) => void
  /** Opens the gRPC handler at the first gRPC connection; absent, gRPC is refused. */
  openGrpcHandler?: OpenGrpcHandler
  /** Whether the server answers gRPC only. */
  isGrpcAlone?: boolean
}

/**
 * Starts the HTTP API of the `cpid_query` extension. If it cannot listen, rejects with an error that says what to change. Disposing ends
 * requests in progress.
 */
export async function startQueryServer(settings: QueryServerSettings): Promise<Listening> {
  const server = serverOf(settings)
  const handler = new LazyGrpcHandler(settings.openGrpcHandler, {
    queries: settings.queries,
    clock: settings.clock ?? systemClock,
    authenticator: settings.authenticator,
    writeTimeoutMs: settings.unread?.writeTimeoutMs,
    onTurnedAway: (reason) => settings.onTurnedAway?.(reason),
    onTrouble: (reason) => settings.onTrouble?.(reason),
    askerOf: (socket, forwarded) =>
      askerOf(socket, proxies.peerOf({ socket, headers: { 'x-forwarded-for': forwarded } })),
    begin: (connection, peer) => listening.begin(connection, peer),
    hold: (connection, peer, isWaiting) => listening.hold(connection, peer, isWaiting),
    refusalText: (reason) => listening.refusalText(reason),
    onKnown: (connection) => listening.known(connection),
  })
  if (settings.openGrpcHandler !== undefined) divertHttp2(server, (socket) => handler.take(socket))
  const known = (connection: Endpoints): void => listening.known(connection)
  const proxies = new TrustedProxies(settings.trustedProxies ?? [])
  if (settings.proxyProtocol === true) acceptProxyHeaders(server, proxies, settings.onNotice)
  const peerOf = (request: IncomingMessage): string => proxies.peerOf(request)
  const gated = { ...settings, onKnown: known, peerOf }
  server.on('request', (request, response) => {
    void serve(gated, request, response)
  })
  if (settings.authenticator === undefined) server.on('secureConnection', known)
  const listening = await listen(server, settings, {
    what: 'The query API',
    setting: `extensions.cpid_query.${settings.isGrpcAlone === true ? 'grpc.endpoint' : 'endpoint'}`,
    connections: settings.connections && connectionLimitsOf(settings.connections, settings),
    onOpen: settings.onOpen,
    onDrop: settings.onDrop,
    unread: settings.unread,
    peerOf,
    refuse: (_, response, reason) => sendFailure(response, 'busy', reason),
  })
  return {
    ...listening,
    get connections() {
      return listening.connections
    },
    [Symbol.asyncDispose]: async () => {
      await handler[Symbol.asyncDispose]()
      await listening[Symbol.asyncDispose]()
    },
  }
}

const RAISE =
  'behind a proxy, write its address under extensions::cpid_query::trusted_proxies; behind NAT, raise ' +
  'extensions::cpid_query::max_connections_per_address, and max_connections with it'

function connectionLimitsOf(
  connections: ConnectionLimits,
  { authenticator, tls }: QueryServerSettings,
): ConnectionLimits {
  const asksForCredential = authenticator !== undefined || tls?.clientCaFile !== undefined
  return {
    ...connections,
    advice: RAISE,
    ...(asksForCredential && { credentialWithinMs: CREDENTIAL_WITHIN_MS }),
  }
}

function serverOf({ tls, onNotice }: QueryServerSettings): Server {
  if (tls === undefined) return readInPieces(createServer(HTTP_SERVER_TIMEOUTS))
  const secured = openServerTls('extension cpid_query', tls, onNotice)
  const server = readInPieces(
    createTlsServer({ ...HTTP_SERVER_TIMEOUTS, ...ALPN_OF_BOTH, ...secured.current }),
  )
  followCertificates(server, secured)
  return server
}

async function serve(
  settings: QueryServerSettings & GateSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { queries, about, dashboard, clock = systemClock, onTrouble, peerOf } = settings
  const gone = new AbortController()
  const asker = askerOf(request.socket, peerOf(request))
  response.once('close', () => gone.abort())
  try {
    if (!(await admitRequest(settings, request, response))) return
    if (settings.isGrpcAlone === true) {
      sendFailure(response, 'grpcAlone')
      return
    }
    if (dashboard !== undefined && (await serveDashboard(dashboard, request, response))) return
    if (isTraceDiff(request.url ?? '/')) {
      const diff = await readTraceDiff(request, response)
      await serveTraceRequest(queries, diff, { request, response, gone: gone.signal, asker })
      return
    }
    const traces = readTraceRequest(request.url ?? '/', request.headers.accept, clock.wallMs())
    const asked = traces === undefined ? readRequest(request.url ?? '/') : undefined
    const isNowhere = asked?.kind === 'failure' && asked.failure === 'unknownPath'
    if (isNowhere) sendFailure(response, 'unknownPath')
    else if (request.method !== 'GET' && request.method !== 'HEAD') sendFailure(response, 'methodNotAllowed')
    else if (traces !== undefined)
      await serveTraceRequest(queries, traces, { request, response, gone: gone.signal, asker })
    else if (asked?.kind === 'failure') sendFailure(response, asked.failure, asked.message)
    else if (asked?.kind === 'about') sendBody(response, 200, JSON_TYPE, JSON.stringify(asked.tell(about)))
    else if (asked !== undefined) {
      const known = readEtags(request.headers['if-none-match'])
      const reply = await queries.ask(asked.question, known, gone.signal, asker)
      if (reply.kind === 'found') await sendText(response, reply.text, { etag: reply.etag })
      else if (reply.kind === 'notModified') sendNotModified(response, reply.etag)
      else sendFailure(response, reply.kind)
    }
  } catch (error) {
    if (error instanceof UnreadAnswer) endUnread(response)
    if (error instanceof UnreadAnswer || isCallersHangup(error, gone.signal)) return
    onTrouble?.(errorText(error))
    // A truncated answer must not look complete.
    if (response.headersSent) response.destroy()
    else sendFailure(response, 'internal')
  }
}

/** With authentication on: how long a connection may stay open without a valid credential, in milliseconds. */
const CREDENTIAL_WITHIN_MS = 10_000

const HANGUPS = [
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
  'ERR_STREAM_DESTROYED',
  'ECONNRESET',
  'EPIPE',
]

function isCallersHangup(error: unknown, gone: AbortSignal): boolean {
  if (gone.aborted && error === gone.reason) return true
  return (
    typeof error === 'object' && error !== null && 'code' in error && HANGUPS.includes(String(error.code))
  )
}

const NEVER_FRAMED = "default-src 'none'; frame-ancestors 'none'"
/** Sec-Fetch-Dest values of requests that embed a page in another one. */
const EMBEDDED: ReadonlySet<string> = new Set(['iframe', 'frame', 'fencedframe', 'embed', 'object'])

interface GateSettings {
  host: string
  /** Refuses clients without valid credentials; the server does not dispose of it. */
  authenticator?: Authenticator
  /** Other origins that may call the API; none by default. */
  cors?: CorsSettings
  /** Host names that requests may use besides the server's own name, IP addresses and localhost; `*` matches any. */
  allowedHosts?: readonly string[]
  /** The address of the client. */
  peerOf: (request: IncomingMessage) => string
  /** Called for every request without a valid credential. */
  onTurnedAway?: (reason: string) => void
  /** Called for every connection with a valid credential. */
  onKnown?: (connection: Socket) => void
}

/**
 * Admits a request, or answers it with a refusal. Refuses pages of other sites, and with them DNS rebinding. No CSRF token is needed, since
 * the API only reads.
 */
async function admitRequest(
  settings: GateSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { cors, authenticator } = settings
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('X-Frame-Options', 'DENY')
  response.setHeader('Content-Security-Policy', NEVER_FRAMED)
  if (!isAllowedName(settings, request.headers.host)) {
    sendFailure(response, 'unknownHost')
    return false
  }
  if (cors === undefined) response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
  else if (applyCors(cors, request, response, 'GET')) {
    response.writeHead(204).end()
    return false
  }
  if (isFromOtherSite(cors, request)) {
    sendFailure(response, 'crossSite')
    return false
  }
  return authenticator === undefined || (await isKnown(authenticator, settings, request, response))
}

/** Whether the Host header is allowed. Without `allowedHosts`, a server that listens beyond localhost allows any name. */
function isAllowedName({ host, allowedHosts = [] }: GateSettings, header: string | undefined): boolean {
  if (isOwnName(host, header)) return true
  const name = bareHost(header ?? '')
  if (allowedHosts.some((pattern) => matchesPattern(pattern.toLowerCase(), name))) return true
  return allowedHosts.length === 0 && !isLoopback(host)
}

/**
 * Whether to refuse a request from another site: scripts unless `cors` allows their origin; links only to the API, since an answer may be
 * expensive. An address typed into the browser is allowed.
 */
function isFromOtherSite(cors: CorsSettings | undefined, { headers, url = '/' }: IncomingMessage): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers
  if (EMBEDDED.has(String(destination))) return true
  if (origin !== undefined) {
    const isOwn = URL.parse(origin)?.host === headers.host?.toLowerCase()
    return !isOwn && !(cors !== undefined && isAllowedOrigin(cors, origin))
  }
  if (site !== 'cross-site' && site !== 'same-site') return false
  return mode !== 'navigate' || isApiPath(url)
}

/** Whether a request is for the API, and not for the dashboard. A target that cannot be parsed counts as one for the API. */
function isApiPath(target: string): boolean {
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

/** The pages load only files of this server, and contain no inline script or style. */
const SECURITY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const ASSET = /^\/assets\/([A-Za-z0-9_-][A-Za-z0-9_.-]*)$/
const FORMS = [
  { encoding: 'br', extension: '.br' },
  { encoding: 'gzip', extension: '.gz' },
]
const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Causeway</title>
<h1>The dashboard has not been built</h1>
<p>Run <code>npm run build</code> in Causeway's folder, then load this page again. Causeway need not be restarted.</p>
<p>Everything else works: the API answers under <code>/api/v1/</code>.</p>
</html>
`

/**
 * Serves the dashboard from the folder that `npm run build` fills: its assets, and index.html at every path that a browser opens. Resolves
 * to false, and sends nothing, if the request is for something else.
 */
async function serveDashboard(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  const path = URL.parse(request.url ?? '/', 'http://causeway')?.pathname ?? '/'
  const asset = ASSET.exec(path)?.[1]
  if (asset !== undefined) return sendAsset(join(folder, 'assets', asset), request, response)
  if (path !== '/' && !isForBrowser(path, request)) return false
  await sendPage(join(folder, 'index.html'), request, response)
  return true
}

function isForBrowser(path: string, { headers }: IncomingMessage): boolean {
  return !isApiPath(path) && !/^\/assets(?:\/|$)/.test(path) && headers.accept?.includes('text/html') === true
}

/** Serves an asset. Its name contains a hash of its content, so browsers may cache it forever. */
async function sendAsset(file: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const type = ownValue(TYPES, extname(file))
  const found = type === undefined ? undefined : await readForm(file, request)
  if (found === undefined) return false
  send(response, 200, found.bytes, {
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    ...found.headers,
  })
  return true
}

async function sendPage(file: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const found = await readForm(file, request)
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }
  if (found === undefined) {
    send(response, 503, Buffer.from(NOT_BUILT), headers)
    return
  }
  const etag = `"${createHash('sha256').update(found.bytes).digest('base64url')}"`
  const isKnown = request.headers['if-none-match'] === etag
  send(response, isKnown ? 304 : 200, isKnown ? undefined : found.bytes, {
    ...headers,
    etag,
    ...found.headers,
  })
}

function send(
  response: ServerResponse,
  status: number,
  bytes: Buffer | undefined,
  headers: Record<string, string | undefined>,
): void {
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  response.writeHead(status, { ...SECURITY, ...headers, ...length })
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}

/** The file in the smallest encoding that the client accepts; undefined if there is no such file. */
async function readForm(
  file: string,
  { headers }: IncomingMessage,
): Promise<{ bytes: Buffer; headers: Record<string, string> } | undefined> {
  const accepted = (headers['accept-encoding']?.toString() ?? '').split(/\s*,\s*/)
  for (const { encoding, extension } of FORMS) {
    if (!accepted.some((item) => item.split(';', 1)[0] === encoding && !/;\s*q=0(?:\.0+)?$/.test(item)))
      continue
    const bytes = await read(file + extension)
    if (bytes !== undefined) {
      return { bytes, headers: { 'content-encoding': encoding, vary: 'accept-encoding' } }
    }
  }
  const bytes = await read(file)
  return bytes && { bytes, headers: { vary: 'accept-encoding' } }
}

async function read(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    ['ENOENT', 'ENOTDIR'].includes(String(error.code))
  )
}

const numbers = new WeakMap<Socket, number>()
let last = 0

/** The client of a connection. Behind a trusted proxy, `address` is not that of the socket. */
function askerOf(socket: Socket, address: string): Asker {
  let connection = numbers.get(socket)
  if (connection === undefined) numbers.set(socket, (connection = ++last))
  return { address, connection }
}

const PROTOBUF = /application\/(?:x-)?protobuf/

/**
 * Reads a request of a Jaeger or Tempo client; undefined for any other path. The prefixes `/jaeger` and `/tempo` tell them apart where both
 * have the path; without a prefix, a client that accepts protobuf counts as Tempo's.
 */
export function readTraceRequest(
  target: string,
  accept: string | undefined,
  nowMs: number,
): TraceRequest | undefined {
  const url = URL.parse(target, 'http://causeway')
  if (/^(?:\/tempo)?\/ready$/.test(url?.pathname ?? ''))
    return { kind: 'fixed', text: 'ready\n', type: 'text/plain' }
  const [, whose, path = ''] = /^(?:\/(jaeger|tempo))?\/api\/(.+)$/.exec(url?.pathname ?? '') ?? []
  if (url === null || path === '' || path.startsWith('v1/')) return undefined
  const parts = path.split('/').map(decoded)
  const wantsProtobuf = PROTOBUF.test(accept ?? '')
  const isTempos = whose === 'tempo' || (whose === undefined && (wantsProtobuf || parts[0] !== 'traces'))
  const asTempo =
    whose !== 'jaeger' && isTempos
      ? understood('tempo', url.searchParams, (parameters) =>
          readTempoRequest(parts, parameters, wantsProtobuf, nowMs),
        )
      : undefined
  if (asTempo !== undefined || whose === 'tempo') return asTempo
  return understood(jaegerDialect(parts), url.searchParams, (parameters) =>
    readJaegerRequest(parts, parameters, nowMs),
  )
}

/** The request that `read` makes, or a refusal that names the first parameter it does not understand. */
function understood(
  dialect: Dialect,
  search: URLSearchParams,
  read: (parameters: TraceApiParameters) => TraceRequest | undefined,
): TraceRequest | undefined {
  const parameters = new TraceApiParameters(search)
  try {
    const request = read(parameters)
    if (request !== undefined) parameters.refuseOthers()
    return request
  } catch (error) {
    if (error instanceof BadParameter) return refused(dialect, error.message)
    throw error
  }
}
