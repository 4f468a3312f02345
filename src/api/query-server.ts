import { createServer as createTlsServer } from 'node:https'
import { createServer, type Server, type IncomingMessage, type ServerResponse } from 'node:http'
import { errorText } from '../model/error-text.ts'
import type { ConnectionLimits, Endpoints } from '../listeners/connections.ts'
import { endUnread } from '../listeners/unread-answers.ts'
import { acceptProxyHeaders } from '../listeners/proxy-headers.ts'
import { TrustedProxies } from '../listeners/trusted-proxies.ts'
import {
  ASKED_SERVER,
  listen,
  type ListenerOptions,
  type ListenAddress,
  type Listening,
} from '../listeners/listen.ts'
import { askerOf } from './asker-of.ts'
import { readTraceRequest } from './compat/read-trace-request.ts'
import { serveTraceRequest } from './compat/serve-trace-request.ts'
import { serveDashboard } from './dashboard.ts'
import { readEtags } from './etags.ts'
import { UnreadAnswer, type QueryService } from './query-service.ts'
import { followCertificates, openServerTls, type ServerTlsSettings } from '../trust/server-tls.ts'
import { admitRequest, type GateSettings } from './gate.ts'
import { readRequest } from './read-request.ts'
import type { About } from './routes/route.ts'
import { sendBody, sendFailure, sendNotModified, sendText } from './reply.ts'

export interface QueryServerSettings
  extends ListenAddress, Omit<GateSettings, 'peerOf'>, Omit<ListenerOptions, 'peerOf'> {
  queries: QueryService
  about: About
  /** Where the built dashboard is; without one there is only the API. */
  dashboard?: string
  tls?: ServerTlsSettings
  /** Addresses and ranges of the proxies that are believed about who asks; nobody is unless given. */
  trustedProxies?: readonly string[]
  /** Whether their connections begin with a header of the PROXY protocol. */
  proxyProtocol?: boolean
  /** Told of what an operator should see to, while questions go on to be answered. */
  onNotice?: (reason: string) => void
  /** Told of every question that could not be answered, or only in part, by a fault here. */
  onTrouble?: (reason: string) => void
}

/**
 * The HTTP API of the `cpid_query` extension. Rejects with an error that says what to change when it cannot listen;
 * disposing ends what is under way.
 */
export async function startQueryServer(settings: QueryServerSettings): Promise<Listening> {
  const server = serverOf(settings)
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
    setting: 'extensions.cpid_query.endpoint',
    connections: settings.connections && connectionLimitsOf(settings.connections, settings),
    onOpen: settings.onOpen,
    onDrop: settings.onDrop,
    unread: settings.unread,
    peerOf,
    refuse: (_, response, reason) => sendFailure(response, 'busy', reason),
  })
  return listening
}

const RAISE =
  'behind a proxy, write its address under extensions::cpid_query::trusted_proxies; behind NAT, raise ' +
  'extensions::cpid_query::max_connections_per_address, and max_connections with it'

function connectionLimitsOf(
  connections: ConnectionLimits,
  { authenticator, tls }: QueryServerSettings,
): ConnectionLimits {
  const asksForCredential = authenticator !== undefined || tls?.clientCaFile !== undefined
  return { ...connections, advice: RAISE, ...(asksForCredential && { credentialWithinMs: STRANGER_MS }) }
}

function serverOf({ tls, onNotice }: QueryServerSettings): Server {
  if (tls === undefined) return createServer(ASKED_SERVER)
  const secured = openServerTls('extension cpid_query', tls, onNotice)
  const server = createTlsServer({ ...ASKED_SERVER, ...secured.current })
  followCertificates(server, secured)
  return server
}

async function serve(
  settings: QueryServerSettings & GateSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { queries, about, dashboard, onTrouble, peerOf } = settings
  const gone = new AbortController()
  const asker = askerOf(request.socket, peerOf(request))
  response.once('close', () => gone.abort())
  try {
    if (!(await admitRequest(settings, request, response))) return
    if (dashboard !== undefined && (await serveDashboard(dashboard, request, response))) return
    const traces = readTraceRequest(request.url ?? '/', request.headers.accept)
    const asked = traces === undefined ? readRequest(request.url ?? '/') : undefined
    const isNowhere = asked?.kind === 'failure' && asked.failure === 'unknownPath'
    if (isNowhere) sendFailure(response, 'unknownPath')
    else if (request.method !== 'GET' && request.method !== 'HEAD') sendFailure(response, 'methodNotAllowed')
    else if (traces !== undefined)
      await serveTraceRequest(queries, traces, { request, response, gone: gone.signal, asker })
    else if (asked?.kind === 'failure') sendFailure(response, asked.failure, asked.message)
    else if (asked?.kind === 'about')
      sendBody(response, 200, 'application/json', JSON.stringify(asked.tell(about)))
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
    // A half-sent answer must not look whole.
    if (response.headersSent) response.destroy()
    else sendFailure(response, 'internal')
  }
}

/** How long a connection may go without a credential where one is asked for, in milliseconds. */
const STRANGER_MS = 10_000

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
