import type { Server, TLSSocket } from 'node:tls'
import type { ListenerSettings } from './listener.ts'

/** More kinds of failures than these are told of together. */
const MAX_KINDS = 20

/** An error of OpenSSL, which has the same reason however its message differs. */
interface HandshakeError extends NodeJS.ErrnoException {
  reason?: unknown
}

/**
 * Tells of TLS connections that were refused: whoever made one learns little more than that it was closed. Each kind of
 * failure is told of in the same words, since who is refused must not be able to fill the log with what it sends.
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
    onTrouble?.(
      `receiver ${receiver} refused a TLS connection: ${isKnown ? found : 'for yet another reason'}`,
    )
  })
}

const kindOf = ({ reason, message }: HandshakeError): string =>
  typeof reason === 'string' ? reason : message
