import type { Socket } from 'node:net'
import {
  type handleServerStreamingCall,
  Metadata,
  type MethodDefinition,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerOptions,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js'
import { errorText } from '../../model/faults.ts'
import { EXPORT_METHODS } from '../../model/otlp-requests.ts'
import { MIB } from '../../model/time-and-size.ts'
import { grpcJsServer } from '../../platform/grpc-js-server.ts'
import { END_FRAME, FRAME_HEADER_BYTES, type GrpcEnd } from '../grpc-answers.ts'
import type { GrpcHandler, GrpcHandlerSettings } from '../http/grpc-connections.ts'
import { BadParameter } from '../http/trace-requests.ts'
import { type AnswerText, type Asker, BadQuestion, UnreadAnswer } from '../question.ts'
import { answered, type GrpcMethod, grpcMethod } from './grpc-method.ts'
import { JAEGER_STORAGE } from './jaeger-storage.ts'
import { TEMPO_STREAMING } from './tempo-streaming.ts'

const MOST_REQUEST_BYTES = 32 * 1024
const WRITE_TIMEOUT_MS = 30_000
/** How long a request may take to arrive, in milliseconds. */
const REQUEST_MS = 10_000
const OPTIONS = {
  'grpc.max_receive_message_length': MOST_REQUEST_BYTES,
  'grpc.max_concurrent_streams': 32,
  'grpc.max_connection_idle_ms': 300_000,
  // A connection with endless headers begins no call and never counts as idle. Pings close it if the client does not answer.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.enable_channelz': 0,
}

/**
 * Opens the handler for Jaeger's remote storage API, Tempo's streaming API, and gRPC health checks. `options` override the default options
 * of grpc-js.
 */
export function openGrpcHandler(settings: GrpcHandlerSettings, options: ServerOptions = {}): GrpcHandler {
  const sockets = new Map<string, Socket>()
  const calls = new Calls(settings, (peer) => sockets.get(peer))
  const server = grpcJsServer({ ...OPTIONS, ...options, interceptors: [calls.admission] })
  for (const method of METHODS)
    server.addService({ call: wireOf(method.path) }, { call: calls.handlerOf(method) })
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  return {
    take: (socket) => {
      const peer = `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`
      sockets.set(peer, socket)
      socket.once('close', () => {
        if (sockets.get(peer) === socket) sockets.delete(peer)
      })
      // Node's HTTP/1.1 server leaves its half of a connection open. An HTTP/2 client that ends its half reads no more.
      socket.once('end', () => socket.destroy())
      injector.injectConnection(socket)
    },
    [Symbol.dispose]: () => {
      server.forceShutdown()
      for (const socket of sockets.values()) socket.destroy()
    },
  }
}

/** SERVING in grpc.health.v1. */
const SERVING = 1

const HEALTH = grpcMethod('/grpc.health.v1.Health/Check', 'HealthCheckRequest', ({ service }) => {
  const name = typeof service === 'string' ? service : ''
  if (name !== '' && !METHODS.some(({ path }) => path.startsWith(`/${name}/`)))
    throw new NoSuchService(`there is no service ${JSON.stringify(name)}`)
  return answered('HealthCheckResponse', { status: SERVING })
})

class NoSuchService extends Error {}

const NOT_WRITTEN =
  'this port does not receive spans: send them to the otlp receiver of Causeway, by default at port 4317'

/** The OTLP method that would write. It is listed so that the refusal says what to do instead. */
const WRITING: GrpcMethod = {
  path: EXPORT_METHODS.traces,
  read: () => {
    throw new CallEnd(status.UNIMPLEMENTED, NOT_WRITTEN)
  },
}

const METHODS: readonly GrpcMethod[] = [...JAEGER_STORAGE, ...TEMPO_STREAMING, HEALTH, WRITING]

const same = (bytes: Buffer): Buffer => bytes

/** On the wire a unary response is the same as a stream of one message. */
const wireOf = (path: string): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: false,
  responseStream: true,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
})

type Call = ServerWritableStream<Buffer, Buffer>

/** A call that ends with an error status. */
class CallEnd extends Error {
  readonly code: status

  constructor(code: status, details: string) {
    super(details)
    this.code = code
  }
}

class Calls {
  readonly #settings: GrpcHandlerSettings
  readonly #socketOf: (peer: string) => Socket | undefined

  constructor(settings: GrpcHandlerSettings, socketOf: (peer: string) => Socket | undefined) {
    this.#settings = settings
    this.#socketOf = socketOf
  }

  /** Refuses calls that are not allowed before it reads their message, and counts the others until they end. */
  readonly admission: ServerInterceptor = ({ path }, call) => {
    let leave = (): void => undefined
    let timer: NodeJS.Timeout | undefined
    const over = (): void => {
      clearTimeout(timer)
      leave()
      leave = () => undefined
    }
    const end = (error: CallEnd): void => {
      over()
      call.sendStatus({ code: error.code, details: error.message, metadata: new Metadata() })
    }
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => {
            timer = setTimeout(() => end(TOO_SLOW), REQUEST_MS)
            this.#admit(path, call, metadata).then(
              (admitted) => {
                leave = admitted
                pass(metadata)
              },
              (error: unknown) =>
                end(error instanceof CallEnd ? error : new CallEnd(status.INTERNAL, errorText(error))),
            )
          },
          onReceiveMessage: (message, pass) => {
            clearTimeout(timer)
            pass(message)
          },
          onCancel: over,
        }),
      sendStatus: (ending, next) => {
        over()
        next(ending)
      },
    })
  }

  handlerOf(method: GrpcMethod): handleServerStreamingCall<Buffer, Buffer> {
    return (call) => {
      void this.#serve(method, call)
    }
  }

  /** Resolves to the function to call when the call ends; rejects with a CallEnd. */
  async #admit(path: string, call: ServerInterceptingCallInterface, metadata: Metadata): Promise<() => void> {
    if (path === EXPORT_METHODS.traces) throw new CallEnd(status.UNIMPLEMENTED, NOT_WRITTEN)
    const { begin, refusalText } = this.#settings
    const socket = this.#socketOf(call.getPeer())
    if (socket === undefined) throw new CallEnd(status.UNAVAILABLE, 'the connection is gone')
    const peer = this.#askerOf(socket, metadata).address
    const begun = begin(socket, peer)
    if (begun.kind === 'refused') throw new CallEnd(status.UNAVAILABLE, refusalText(begun.reason))
    try {
      await this.#checkCredential(socket, peer, metadata)
    } catch (error) {
      begun.end()
      throw error
    }
    return begun.end
  }

  async #checkCredential(socket: Socket, peer: string, metadata: Metadata): Promise<void> {
    const { authenticator, onKnown, onTurnedAway } = this.#settings
    if (authenticator === undefined) return
    const [shown] = metadata.get(authenticator.header)
    const checked = await authenticator.check(shown?.toString(), peer)
    if (checked.kind === 'known') onKnown(socket)
    else if (checked.kind === 'busy')
      throw new CallEnd(status.UNAVAILABLE, 'too many passwords are being checked; ask again in a second')
    else {
      onTurnedAway(checked.reason)
      throw new CallEnd(
        status.UNAUTHENTICATED,
        `show a credential that extensions::cpid_query::auth accepts, in the metadata ${authenticator.header}`,
      )
    }
  }

  #askerOf(socket: Socket, metadata: Metadata): Asker {
    return this.#settings.askerOf(socket, metadata.get('x-forwarded-for')[0]?.toString())
  }

  async #serve(method: GrpcMethod, call: Call): Promise<void> {
    const gone = new AbortController()
    call.on('cancelled', () => gone.abort())
    try {
      const asked = method.read(call.request, this.#settings.clock.wallMs())
      const end = new Metadata()
      if ('answer' in asked) await this.#write(call, asked.answer, gone.signal)
      else
        for (const question of asked.questions) {
          const socket = this.#socketOf(call.getPeer())
          if (socket === undefined) return
          const asker = this.#askerOf(socket, call.metadata)
          const reply = await this.#settings.queries.ask(question, [], gone.signal, asker)
          if (reply.kind !== 'found') continue
          const { lacks, isRefused } = await this.#send(call, reply.text, gone.signal, { socket, asker })
          if (isRefused === true && lacks !== undefined) throw new CallEnd(status.RESOURCE_EXHAUSTED, lacks)
          if (lacks !== undefined) end.set('causeway-partial', encodeURIComponent(lacks))
        }
      call.end(end)
    } catch (error) {
      if (gone.signal.aborted) return
      call.emit('error', this.#endOf(error))
      // The unread answer would stay in memory as long as the connection is open.
      if (error instanceof UnreadAnswer) this.#socketOf(call.getPeer())?.destroy()
    }
  }

  #endOf(error: unknown): { code: status; details: string } {
    if (error instanceof CallEnd) return { code: error.code, details: error.message }
    if (error instanceof BadParameter || error instanceof BadQuestion)
      return { code: status.INVALID_ARGUMENT, details: error.message }
    if (error instanceof NoSuchService) return { code: status.NOT_FOUND, details: error.message }
    if (error instanceof UnreadAnswer) return { code: status.UNAVAILABLE, details: error.message }
    this.#settings.onTrouble(errorText(error))
    return {
      code: status.INTERNAL,
      details: 'the question could not be answered; see the log of Causeway, or ask again',
    }
  }

  /** Sends the messages of an answer as they are made, at the speed of the client. Resolves to how the answer ended. */
  async #send(
    call: Call,
    text: AnswerText,
    gone: AbortSignal,
    { socket, asker }: { socket: Socket; asker: Asker },
  ): Promise<GrpcEnd> {
    let end: GrpcEnd = {}
    let isWaiting = false
    let charged = 0
    const reader = new FrameReader()
    const held = this.#settings.hold(socket, asker.address, () => isWaiting)
    try {
      for await (const chunk of text) {
        const bytes = Buffer.from(chunk, 'latin1')
        const holds = Math.min(reader.length + bytes.length, MOST_CHARGED)
        if (holds > charged && !held.charge(holds - charged)) throw TOO_MANY_UNREAD
        charged = Math.max(charged, holds)
        isWaiting = true
        for (const frame of reader.read(bytes)) {
          if (frame.first === END_FRAME) end = JSON.parse(frame.bytes.toString()) as GrpcEnd
          else await this.#write(call, frame.bytes, gone)
        }
        isWaiting = false
      }
      return end
    } finally {
      held.forget()
      text.cancel()
    }
  }

  /** Resolves once the connection has taken the message. */
  async #write(call: Call, message: Buffer, gone: AbortSignal): Promise<void> {
    const { writeTimeoutMs = WRITE_TIMEOUT_MS } = this.#settings
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const giveUp = (): void => reject(new UnreadAnswer())
    const timer = writeTimeoutMs > 0 ? setTimeout(giveUp, writeTimeoutMs) : undefined
    gone.addEventListener('abort', giveUp)
    try {
      call.write(message, () => resolve(undefined))
      await promise
    } finally {
      clearTimeout(timer)
      gone.removeEventListener('abort', giveUp)
    }
  }
}

/** A longer message is held as if it had this length: alone it has to find room. */
const MOST_CHARGED = 16 * MIB

const TOO_MANY_UNREAD = new CallEnd(
  status.UNAVAILABLE,
  'too many answers are waiting to be read; ask again in a second',
)

const TOO_SLOW = new CallEnd(
  status.DEADLINE_EXCEEDED,
  'the request did not come whole in time; send it again',
)

interface Frame {
  readonly first: number
  readonly bytes: Buffer
}

/** Reassembles frames from chunks of an answer. */
class FrameReader {
  #chunks: Buffer[] = []
  #length = 0

  /** The bytes of the frame that is not complete yet. */
  get length(): number {
    return this.#length
  }

  /** The frames completed by this chunk. */
  read(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    const frames: Frame[] = []
    for (let length = this.#nextLength(); length <= this.#length; length = this.#nextLength()) {
      const all = Buffer.concat(this.#chunks)
      frames.push({ first: all.readUInt8(0), bytes: all.subarray(FRAME_HEADER_BYTES, length) })
      this.#chunks = [all.subarray(length)]
      this.#length -= length
    }
    return frames
  }

  /** The length of the next frame with its header; Infinity while the header is incomplete. */
  #nextLength(): number {
    const [head] = this.#chunks
    if (head === undefined || this.#length < FRAME_HEADER_BYTES) return Infinity
    if (head.length < FRAME_HEADER_BYTES) this.#chunks = [Buffer.concat(this.#chunks)]
    return FRAME_HEADER_BYTES + (this.#chunks[0] ?? head).readUInt32BE(1)
  }
}
