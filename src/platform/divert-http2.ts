import type { Server } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { HTTP_SERVER_TIMEOUTS } from './http-listener.ts'
import { readBeginning } from './trusted-proxies.ts'

/** The beginning of the HTTP/2 preface (RFC 9113, section 3.4); no method of HTTP/1.1 begins so. */
const PREFACE = Buffer.from('PRI')

/** Browsers offer both and get HTTP/1.1; gRPC clients offer HTTP/2 alone. */
export const ALPN_OF_BOTH = {
  ALPNCallback: ({ protocols }: { protocols: string[] }): string | undefined =>
    ['http/1.1', 'h2'].find((known) => protocols.includes(known)),
}

/**
 * Passes HTTP/2 connections to `take` instead of the server. Call it before anything else wraps the server's connection
 * listeners.
 */
export function divertHttp2(server: Server | HttpsServer, take: (socket: Socket) => void): void {
  const event = server instanceof HttpsServer ? 'secureConnection' : 'connection'
  const takers = server.listeners(event) as ((socket: Socket) => void)[]
  server.removeAllListeners(event)
  const pass = (socket: Socket): void => {
    for (const taker of takers) taker.call(server, socket)
  }
  if (event === 'connection') server.on(event, (socket: Socket) => divertPlain(socket, take, pass))
  else server.on(event, (socket: TLSSocket) => (socket.alpnProtocol === 'h2' ? take(socket) : pass(socket)))
}

function divertPlain(socket: Socket, take: (socket: Socket) => void, pass: (socket: Socket) => void): void {
  readBeginning(socket, HTTP_SERVER_TIMEOUTS.headersTimeout, (bytes) => {
    const begun = bytes.subarray(0, PREFACE.length)
    const mayBe = PREFACE.subarray(0, begun.length).equals(begun)
    if (mayBe && begun.length < PREFACE.length) return undefined
    return () => {
      socket.unshift(bytes)
      ;(mayBe ? take : pass)(socket)
    }
  })
}
