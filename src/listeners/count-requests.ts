import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { ConnectionLimits, Connections } from './connections.ts'

export interface RequestCounting {
  /** Who asks, where a proxy asks for others. */
  peerOf?: ((request: IncomingMessage) => string) | undefined
  /** Answers a request that is refused for now with this reason, once the headers are set that say when to come again. */
  refuse?: ((request: IncomingMessage, response: ServerResponse, reason: string) => void) | undefined
}

const RETRY_AFTER_S = '1'

/**
 * Counts the requests of a server's connections while they are answered, and refuses those beyond the limits. To be called once
 * everything else listens for its requests: one that is refused is shown to nobody.
 */
export function countRequests(
  server: Server,
  connections: Connections,
  { peerOf, refuse = refuseAsText }: RequestCounting = {},
): void {
  const takers = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const begun = connections.begin(request.socket, peerOf?.(request))
    if (begun.kind === 'refused') {
      response.setHeader('Retry-After', RETRY_AFTER_S)
      refuse(request, response, refusalText(begun.reason, connections.limits))
      return
    }
    response.once('close', begun.end)
    if (begun.isLast) closeAfter(request, response)
    for (const take of takers) take.call(server, request, response)
  })
}

/** What somebody reads whose request is one too many. */
export function refusalText(
  reason: 'limit' | 'address',
  { max, maxPerAddress = max, advice }: ConnectionLimits,
): string {
  const what =
    reason === 'address'
      ? `${maxPerAddress} connections of your address have a request under way, which is as many as one address may have`
      : `${max} connections have a request under way, which is as many as there may be`
  const raise = advice === undefined ? '' : `; ${advice}`
  return `${what}; send this again later, or over fewer connections${raise}`
}

/** Ends the connection with the answer. The body is read first, since what comes of it after the end would cut off the answer. */
function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  const close = (): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  }
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  if (hasBody) request.once('end', close)
  else close()
}

function refuseAsText(_: IncomingMessage, response: ServerResponse, reason: string): void {
  response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' }).end(`${reason}\n`)
}
