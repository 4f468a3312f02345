import type { ServerHttp2Stream } from 'node:http2'
import { Server, type ServerOptions } from '@grpc/grpc-js'

/**
 * The version whose internals are used here and by the OTLP receiver. A test fails for other versions: read their server.ts and
 * server-interceptors.ts first.
 */
export const GRPC_JS_VERSION = '1.14.7'

/** The error for a version whose internals differ. */
export function unknownGrpcJs(): Error {
  return new Error(
    `this version of @grpc/grpc-js is not known; install ${GRPC_JS_VERSION}, as package.json has it`,
  )
}

/** A member of a server that its type does not show. */
interface GrpcJsServer {
  _streamHandler?: (interceptors: unknown, stream: ServerHttp2Stream, headers: unknown) => void
}

/**
 * A server that ignores streams which were closed before it could answer them, such as when the connection broke off. grpc-js answers
 * an unknown method or content type on such a stream with an uncaught exception, which ends the process.
 */
export function grpcJsServer(options: ServerOptions): Server {
  const server = new Server(options)
  const inside = server as unknown as GrpcJsServer
  const handle = inside._streamHandler?.bind(server)
  if (handle === undefined) throw unknownGrpcJs()
  inside._streamHandler = (interceptors, stream, headers) => {
    if (stream.closed || stream.destroyed) stream.on('error', () => undefined)
    else handle(interceptors, stream, headers)
  }
  return server
}
