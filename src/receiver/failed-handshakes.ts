import type { Server, TLSSocket } from 'node:tls'
import type { ListenerSettings } from './listener.ts'

/** Beyond this many different failures, further ones are reported as one. */
const MAX_KINDS = 20

/** An OpenSSL error. `reason` is the same for one kind of failure, while `message` varies. */
interface HandshakeError extends NodeJS.ErrnoException {
  reason?: unknown
}

/**
 * Reports refused TLS connections: a client sees little more than a closed connection. The same failure always
 * has the same message, so that a client cannot fill the log.
 */
export function reportFailedHandshakes(
  server: Pick<Server, 'on'>,
  { receiver, onTrouble }: Pick<ListenerSettings, 'receiver' | 'onTrouble'>,
): void {
  const kinds = new Set<string>()
  server.on('tlsClientError', (error: HandshakeError, socket: TLSSocket) => {
    socket.destroy()
    if (error.code === 'ECONNRESET') return
    const found = kindOf(error)
    const isKnown = kinds.has(found) || kinds.size < MAX_KINDS
    if (isKnown) kinds.add(found)
    onTrouble?.(`receiver ${receiver} refused a TLS connection: ${isKnown ? found : 'for another reason'}`)
  })
}

/** The TLS alert that a client sends about the server's certificate. */
const REFUSED = /\balert (?:.*certificate|unknown ca)/

function kindOf({ reason, message }: HandshakeError): string {
  const found = typeof reason === 'string' ? reason : message
  return REFUSED.test(found) ? `the client does not trust the certificate of this server (${found})` : found
}
