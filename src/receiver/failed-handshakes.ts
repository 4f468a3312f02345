import type { TLSSocket, Server } from 'node:tls'
import type { ReceiverSettings } from './receiver-settings.ts'

/** Tells of TLS connections that were refused: whoever made one learns little more than that it was closed. */
export function tellOfHandshakes(
  server: Pick<Server, 'on'>,
  { receiver, onTrouble }: Pick<ReceiverSettings, 'receiver' | 'onTrouble'>,
): void {
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    socket.destroy()
    if (error.code === 'ECONNRESET') return
    onTrouble?.(`receiver ${receiver} refused a TLS connection: ${error.message}`)
  })
}
