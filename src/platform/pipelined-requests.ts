import type { RequestListener, Server, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'

/** The shortest request has 27 bytes: a piece holds at most 300 of them. */
const PIECE_BYTES = 8 * 1024

/** The pipelined requests of a connection: some are being answered, the others wait. */
interface Unanswered {
  answering: number
  readonly waiting: (() => void)[]
  /** The connection is paused until no request waits. */
  isHeld: boolean
}

const unansweredOf = new WeakMap<Socket, Unanswered>()

/**
 * Parses the input of each connection in small pieces, and pauses it while pipelined requests wait for an answer (RFC 9112,
 * section 9.3.2). Otherwise Node makes objects of all requests of a packet at once. Call it right after the server is made, and
 * `answerInTurn` after all request listeners are added.
 */
export function readInPieces<S extends Server | HttpsServer>(server: S): S {
  const event = server instanceof HttpsServer ? 'secureConnection' : 'connection'
  const takers = server.listeners(event) as ((socket: Socket) => void)[]
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    for (const taker of takers) taker.call(server, socket)
    readSocketInPieces(socket)
  })
  return server
}

function readSocketInPieces(socket: Socket): void {
  const unanswered: Unanswered = { answering: 0, waiting: [], isHeld: false }
  unansweredOf.set(socket, unanswered)
  const readers = socket.listeners('data') as ((bytes: Buffer) => void)[]
  for (const reader of readers) socket.off('data', reader)
  socket.on('data', (bytes: Buffer) => {
    unanswered.isHeld = false
    for (let at = 0; at < bytes.length && !socket.destroyed; at += PIECE_BYTES) {
      // Node has paused the connection and its parser, because the client does not read its answers. Node resumes both.
      const isPaused = at > 0 && socket.isPaused()
      if (isPaused || unanswered.waiting.length > 0) {
        unanswered.isHeld = !isPaused
        socket.pause().unshift(bytes.subarray(at))
        return
      }
      const piece = bytes.subarray(at, at + PIECE_BYTES)
      for (const reader of readers) reader.call(socket, piece)
    }
  })
}

interface InTurnSettings {
  /** How many requests of one connection are answered at the same time. */
  readonly atOnce: number
  /** Called for every request that was passed on, once its response is closed. */
  readonly onClosed: (response: ServerResponse) => void
}

/**
 * Answers at most `atOnce` requests of one connection at the same time. Call it after all other request listeners: they do not see a request that
 * waits.
 */
export function answerInTurn(server: Server, { atOnce, onClosed }: InTurnSettings): void {
  const takers = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const { socket } = request
    // Node still parses the rest of a piece after the connection is closed.
    if (socket.destroyed) return
    const unanswered = unansweredOf.get(socket)
    const begin = (): void => {
      if (unanswered !== undefined) unanswered.answering++
      for (const take of takers) take.call(server, request, response)
      response.once('close', () => {
        onClosed(response)
        // Other connections are served first.
        if (unanswered !== undefined) setImmediate(next, socket, unanswered)
      })
    }
    if (unanswered === undefined || unanswered.answering < atOnce) begin()
    else unanswered.waiting.push(begin)
  })
}

function next(socket: Socket, unanswered: Unanswered): void {
  unanswered.answering--
  if (socket.destroyed) return
  unanswered.waiting.shift()?.()
  if (unanswered.waiting.length > 0 || !unanswered.isHeld) return
  unanswered.isHeld = false
  socket.resume()
}
