import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { readingOf, type Reading } from '../../admission/reading-turns.ts'
import type { Metadata, ServerInterceptingCallInterface } from '@grpc/grpc-js'

/** What this was written for; a test fails with any other, until somebody has read that one's server-interceptors.ts. */
export const GRPC_JS_VERSION = '1.14.7'

/** A flag for compression and four bytes of length (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5

export type Ending = Parameters<ServerInterceptingCallInterface['sendStatus']>[0]

/** What grpc-js has inside a call and does not show in its types. */
interface Inside extends ServerInterceptingCallInterface {
  readonly stream: ServerHttp2Stream
  decompressMessage(framed: Buffer, encoding: string): Promise<Buffer>
}

export interface CallHooks {
  /** Each piece of the message as it comes, before grpc-js keeps it. */
  bytes(chunk: Buffer): void
  /** Before an answer's headers go out. */
  head(metadata: Metadata): void
  /** A message without its compression; what it rejects with becomes the call's ending. */
  decompress(message: Buffer, encoding: string): Promise<Buffer>
  /** Somebody ends the call: a handler, an interceptor or grpc-js. Nothing is sent but by `send`. */
  ending(ending: Ending): void
  closed(): void
}

/**
 * The only place that reaches into grpc-js: the bytes of a call as they come, how they are decompressed, and every way it
 * ends. Without it memory could not be bounded, since grpc-js counts a message only once it is whole, and no hook of its
 * interceptors shows the calls that it ends by itself before.
 */
export class GrpcJsCall {
  /** The call as interceptors know it; all that goes through it is heard. */
  readonly call: ServerInterceptingCallInterface
  readonly #stream: ServerHttp2Stream
  readonly #sendStatus: (ending: Ending) => void

  /** `call`: what the first interceptor is given. Throws when grpc-js is one that this was not written for. */
  constructor(call: ServerInterceptingCallInterface, hooks: CallHooks) {
    const inside = insideOf(call)
    this.call = inside
    this.#stream = inside.stream
    this.#sendStatus = inside.sendStatus.bind(inside)
    const sendMetadata = inside.sendMetadata.bind(inside)
    inside.sendStatus = (ending) => hooks.ending(ending)
    inside.sendMetadata = (metadata) => {
      hooks.head(metadata)
      sendMetadata(metadata)
    }
    inside.decompressMessage = (framed, encoding) => hooks.decompress(framed.subarray(PREFIX_BYTES), encoding)
    this.#stream.prependListener('data', (chunk: Buffer) => hooks.bytes(chunk))
    this.#stream.once('close', () => hooks.closed())
  }

  /** What stands for the connection of the call; the call itself where that is gone. */
  get connection(): object {
    return this.#stream.session ?? this.#stream
  }

  /** Reading from the connection of the call. */
  get reading(): Reading {
    const { session } = this.#stream
    const isOpen = session !== undefined && !session.destroyed
    return readingOf(isOpen ? session.socket : {})
  }

  /** Ends the call with what is sent. */
  send(ending: Ending): void {
    this.#sendStatus(ending)
  }

  /** Ends the call whose message is not read to its end: what its sender still sends is dropped. */
  cutOff(ending: Ending): void {
    this.#sendStatus(ending)
    if (!this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Neither grpc-js nor `bytes` gets any more of the message. */
  readNoMore(): void {
    this.#stream.removeAllListeners('data')
  }
}

/** The connection that a call came on; undefined when it is gone. Throws as GrpcJsCall does. */
export function sessionOf(call: ServerInterceptingCallInterface): Http2Session | undefined {
  return insideOf(call).stream.session
}

function insideOf(call: ServerInterceptingCallInterface): Inside {
  const { stream, decompressMessage } = call as Partial<Inside>
  if (typeof stream?.prependListener !== 'function' || typeof decompressMessage !== 'function')
    throw new Error(
      `this version of @grpc/grpc-js is not known; install ${GRPC_JS_VERSION}, as package.json has it`,
    )
  return call as Inside
}
