import { STATUS_CODES, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AwaitedBodies } from './awaited-bodies.ts'
import { ownValue } from '../../model/own-value.ts'
import { REPLIES } from '../otlp/reply.ts'

/** How long an answer to a request that was too slow has to leave, in milliseconds. */
const LAST_ANSWER_MS = 5_000

/** What Node's parser finds wrong, by its error code; everything else is malformed. */
const FAULTS: Readonly<Record<string, keyof typeof REPLIES>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'tooLarge',
}

/**
 * Ends connections on which something is wrong. Node answers a request that is not whole in time with 408, which OTLP
 * senders do not send again: here one whose body is awaited is refused for now, and one without its headers ends without
 * an answer, as in Go's net/http, which senders take for a fault of the network. What is no HTTP is answered as Node does.
 */
export function closeFaultyConnections(
  server: Server,
  awaited: AwaitedBodies,
  open: ReadonlySet<ServerResponse>,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const code = error.code ?? ''
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && awaited.giveUp(socket)) {
      const timer = setTimeout(() => socket.destroy(), LAST_ANSWER_MS)
      socket.once('close', () => clearTimeout(timer))
      return
    }
    const isAnswering = [...open].some((response) => response.socket === socket && response.headersSent)
    if (!code.startsWith('HPE_') || !socket.writable || isAnswering) {
      socket.destroy(error)
      return
    }
    const { http } = REPLIES[ownValue(FAULTS, code) ?? 'malformed']
    socket.write(`HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ''}\r\nConnection: close\r\n\r\n`)
    socket.destroySoon()
  })
}
