import {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { receivedSpans, type ReceivedSpan } from './received-spans.ts'

const PREFIX_BYTES = 5
const GRPC = { ':status': 200, 'content-type': 'application/grpc' }

/** A gRPC backend whose every byte is in the hands of the test. */
interface RawGrpcBackend extends AsyncDisposable {
  port: number
  spans: ReceivedSpan[]
  /** How many requests a behaviour was given to. */
  requests: number
}

export type RawBehaviour = (stream: ServerHttp2Stream) => void

/** Answers as a backend that took the request. */
const answersOk: RawBehaviour = (stream) => answersBytes(Buffer.alloc(PREFIX_BYTES))(stream)

/** Answers with a status alone. */
export const answersStatus =
  (code: number, headers: Record<string, string> = {}): RawBehaviour =>
  (stream) => {
    const said = { 'grpc-status': String(code), 'grpc-message': 'as the test has it', ...headers }
    stream.respond({ ...GRPC, ...said }, { endStream: true })
  }

/** Answers OK, with bytes of its own in the place of the message. */
export const answersBytes =
  (bytes: Uint8Array, headers: Record<string, string> = {}): RawBehaviour =>
  (stream) => {
    stream.respond({ ...GRPC, ...headers }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(bytes)
  }

/** Begins an answer and leaves it at that, with the stream open. */
export const hangsInItsReply: RawBehaviour = (stream) => {
  stream.respond(GRPC)
  stream.write(Buffer.from([0, 0, 0]))
}

/** Ends an answer before it has said whether it took the request, as a proxy does whose backend is gone. */
export const endsWithoutStatus: RawBehaviour = (stream) => {
  stream.respond(GRPC)
  stream.end()
}

/** Ends a stream with an error code of HTTP/2. */
export const resetsTheStream =
  (code: number): RawBehaviour =>
  (stream) =>
    stream.close(code)

/** Ends the connection with an error code of HTTP/2; without an error the stream might go on, so that it is ended too. */
export const goesAway =
  (code: number): RawBehaviour =>
  (stream) => {
    stream.session?.goaway(code, 0, Buffer.from('too_many_pings'))
    if (code === constants.NGHTTP2_NO_ERROR) stream.close(constants.NGHTTP2_CANCEL)
  }

export const failsInTheStream: RawBehaviour = (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR)
export const cancelsTheStream: RawBehaviour = (stream) => stream.close(constants.NGHTTP2_CANCEL)
export const refusesTheStream: RawBehaviour = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM)
export const resetsTheConnection: RawBehaviour = (stream) => stream.session?.destroy()

/** Behaves to its first requests as told, one after the other, and takes all later ones. */
export async function startRawGrpcBackend(behaviours: readonly RawBehaviour[]): Promise<RawGrpcBackend> {
  const server: Http2Server = createServer()
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  const backend: RawGrpcBackend = {
    port: 0,
    spans: [],
    requests: 0,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  server.on('stream', (stream) => {
    const chunks: Buffer[] = []
    stream.on('error', () => undefined)
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      // Ended and destroyed at once, when another stream's behaviour reset their connection.
      if (stream.destroyed) return
      const behave = behaviours[backend.requests++] ?? answersOk
      if (behave === answersOk)
        backend.spans.push(...receivedSpans(Buffer.concat(chunks).subarray(PREFIX_BYTES)))
      behave(stream)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  backend.port = (server.address() as AddressInfo).port
  return backend
}
