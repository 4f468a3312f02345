import type { ServerHttp2Stream } from 'node:http2'
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js'

/**
 * What grpc-js has inside a call and does not show in its types: the bytes as they come, and how they are decompressed.
 * Without it memory could not be bounded, since grpc-js counts a message only once it is whole.
 */
export interface InnermostCall extends ServerInterceptingCallInterface {
  readonly stream: ServerHttp2Stream
  decompressMessage(framed: Buffer, encoding: string): Promise<Buffer>
}

/** The call that the first interceptor is given. Throws when grpc-js is one that was not written for. */
export function innermostCall(call: ServerInterceptingCallInterface): InnermostCall {
  const { stream, decompressMessage } = call as Partial<InnermostCall>
  if (typeof stream?.prependListener !== 'function' || typeof decompressMessage !== 'function')
    throw new Error('this version of @grpc/grpc-js is not known; install the one in package.json')
  return call as InnermostCall
}
