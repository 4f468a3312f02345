import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
  type StatusObject,
} from '@grpc/grpc-js'
import { ownValue } from '../../model/untrusted-names.ts'
import { encodeRpcStatus, type RpcStatus, truncateMessage } from '../../model/otlp/responses.ts'
import { type Endpoints, peerOf, type RequestAdmission } from '../../platform/connections.ts'
import { unknownGrpcJs } from '../../platform/grpc-js-server.ts'
import { ANSWER_STATUSES, type Refusal, rpcStatusOf } from '../answer-statuses.ts'
import { GRPC_ACCEPT_ENCODING, GRPC_CODINGS } from '../compression.ts'
import {
  BUDGET_EXHAUSTED,
  budgetHolderOf,
  CHUNK_BYTES,
  type PausableReading,
  pausableReadingOf,
  REQUEST_BYTES,
  type Reservation,
} from '../in-flight.ts'
import type { Intake, Origin } from '../intake.ts'
import { KeptChunks, type PacedBody, type SlowBodyWatch } from '../request-body.ts'

/** The origin of each call, by its metadata: the one object that grpc-js passes from each interceptor to the handler. */
export type CallOrigins = WeakMap<Metadata, Origin>

export interface AdmissionSettings {
  maxMessageBytes: number
  /** How long a message may take to arrive, in milliseconds; 0 for no limit. */
  requestTimeoutMs: number
  /** Called for calls that ended before their message was complete. */
  refused: (path: string, refusal: Refusal) => void
  /** Gets the origin of each admitted call. */
  origins: CallOrigins
  pace: SlowBodyWatch
  /** Called for every call that begins on a connection. */
  begin: (connection: GrpcConnection) => RequestAdmission
  /** The message for a sender with too many connections. */
  refusalText: (reason: 'limit' | 'address') => string
}

/** The HTTP/2 session on which calls arrive. */
export interface GrpcConnection extends Endpoints {
  readonly peer: string
  readonly session: Http2Session
}

/**
 * Refuses calls before their message is read when memory is short, the budget is spent or the sender is over its limit. Counts
 * every byte toward the budget as it arrives and again as it is decompressed, and ends calls whose message takes too long.
 * Reports these, and the calls that grpc-js itself ends before their message is complete. A call's bytes are freed when it ends.
 */
export function admissionInterceptor(intake: Intake, settings: AdmissionSettings): ServerInterceptor {
  const connections = new GrpcConnections()
  return ({ path }, outer) => {
    const call = new AdmittedCall(outer, {
      ...{ intake, settings, path, connection: connections.of(sessionOf(outer)) },
    })
    return new ServerInterceptingCall(call.call, {
      start(next) {
        next({
          onReceiveMetadata: (metadata, pass) => {
            call.begin(metadata, () => pass(metadata))
          },
          onReceiveMessage: (message, pass) => {
            if (call.becomeWhole()) pass(message)
          },
        })
      },
    })
  }
}

/** The connection of each session. */
class GrpcConnections {
  readonly #known = new WeakMap<Http2Session, GrpcConnection>()

  /** Undefined when the connection is gone. */
  of(session: Http2Session | undefined): GrpcConnection | undefined {
    if (session === undefined || session.destroyed) return undefined
    const before = this.#known.get(session)
    if (before !== undefined) return before
    const { remoteAddress, remotePort, localAddress } = session.socket
    const peer = peerOf(remoteAddress)
    const connection = { peer, session, remoteAddress, remotePort, localAddress }
    this.#known.set(session, connection)
    return connection
  }
}

interface AdmissionParts {
  intake: Intake
  settings: AdmissionSettings
  /** The path of the gRPC method. */
  path: string
  /** Undefined when the connection is gone. */
  connection: GrpcConnection | undefined
}

/** A call from its first byte to its end. */
class AdmittedCall {
  readonly #grpc: GrpcJsCall
  readonly #admitting: AdmissionParts
  readonly #peer: string
  readonly #reservation: Reservation
  #state: 'reading' | 'whole' | 'refused' = 'reading'
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #paced: PacedBody | undefined
  #endReading: () => void = () => undefined
  /** Undefined before it is admitted, and once the first byte has been counted. */
  #origin: Origin | undefined
  /** Reports its end to its connection. */
  #leave: () => void = () => undefined

  constructor(call: ServerInterceptingCallInterface, admitting: AdmissionParts) {
    this.#admitting = admitting
    this.#peer = admitting.connection?.peer ?? ''
    this.#reservation = admitting.intake.inFlight.open(this.#peer)
    this.#reservation.onGiveWay(() => this.#giveWay())
    const { maxMessageBytes } = admitting.settings
    this.#grpc = new GrpcJsCall(call, {
      bytes: (chunk) => this.#count(chunk),
      // grpc-js would list only the codings that it decompresses itself.
      head: (metadata) => metadata.set('grpc-accept-encoding', GRPC_ACCEPT_ENCODING),
      decompress: (message, encoding) =>
        decompressCounted(message, encoding, maxMessageBytes, this.#reservation),
      ending: (ending) => this.#end(ending),
      closed: () => {
        this.#isClosed = true
        this.#awaitNoMore()
        this.#reservation[Symbol.dispose]()
        this.#leave()
      },
    })
  }

  get call(): ServerInterceptingCallInterface {
    return this.#grpc.call
  }

  /** Begins to wait for the message, by `pass`, or refuses the call. */
  begin(metadata: Metadata, pass: () => void): void {
    const { intake } = this.#admitting
    if (!this.#hasConnection()) return
    const { connection } = this.#grpc
    this.#countReceived(REQUEST_BYTES)
    intake.admit(connection, this.#reservation, (admitted) => {
      if (this.#isClosed || this.#state !== 'reading') {
        if (typeof admitted === 'function') admitted()
      } else if (typeof admitted === 'function') {
        this.#endReading = admitted
        this.#awaitMessage(metadata)
        pass()
      } else this.#refuse(admitted)
    })
  }

  #awaitMessage(metadata: Metadata): void {
    const { settings } = this.#admitting
    const giveUp = (): void => this.#giveUp()
    if (settings.requestTimeoutMs > 0) this.#timer = setTimeout(giveUp, settings.requestTimeoutMs)
    this.#paced = settings.pace.begin(giveUp)
    this.#origin = { connection: this.#grpc.connection }
    settings.origins.set(metadata, this.#origin)
  }

  /** Whether its connection may have a call in flight. */
  #hasConnection(): boolean {
    const { connection, settings } = this.#admitting
    if (connection === undefined) return true
    const begun = settings.begin(connection)
    if (begun.kind === 'begun') {
      this.#leave = begun.end
      return true
    }
    this.#become('refused')
    this.#grpc.cutOff(tooManyConnectionsStatus(settings.refusalText(begun.reason)))
    return false
  }

  /** The message is complete; false when the call was refused, perhaps for its last bytes. */
  becomeWhole(): boolean {
    if (this.#state === 'refused') return false
    this.#become('whole')
    this.#reservation.markRead()
    return true
  }

  #become(state: 'whole' | 'refused'): void {
    this.#state = state
    this.#awaitNoMore()
  }

  #awaitNoMore(): void {
    this.#endReading()
    this.#endReading = () => undefined
    clearTimeout(this.#timer)
    if (this.#paced !== undefined) this.#admitting.settings.pace.end(this.#paced)
  }

  /** Pauses this connection when it has sent much. */
  #countReceived(bytes: number): void {
    this.#reservation.countReceived(this.#grpc.connection, bytes, this.#grpc.reading)
  }

  #count(chunk: Buffer): void {
    this.#countReceived(chunk.length + CHUNK_BYTES)
    if (this.#state !== 'reading') return
    if (this.#origin !== undefined)
      this.#reservation.chargeTo(budgetHolderOf(this.#origin.sender, this.#peer))
    this.#origin = undefined
    if (this.#paced !== undefined) this.#paced.receivedBytes += chunk.length
    if (!this.#reservation.take(chunk.length)) this.#giveWay()
  }

  #giveWay(): void {
    if (this.#state !== 'reading') return
    this.#grpc.readNoMore()
    this.#refuse(BUDGET_EXHAUSTED)
  }

  /** Answers after the delay for refusals. */
  #refuse(refusal: Refusal): void {
    this.#become('refused')
    this.#report(refusal)
    void this.#admitting.intake.delayRefusal(refusal).then((ready) => this.#grpc.cutOff(grpcStatusOf(ready)))
  }

  #giveUp(): void {
    this.#become('refused')
    this.#report(TOO_SLOW)
    this.#grpc.cutOff(tooSlowStatus())
  }

  /** grpc-js or a handler ends the call: with the answer once the message is complete, with an error before. */
  #end(ending: Ending): void {
    if (this.#state === 'whole') {
      this.#reservation[Symbol.dispose]()
      this.#grpc.send(ending)
    }
    if (this.#state !== 'reading') return
    this.#become('refused')
    const refusal = refusalOfEnding(ending)
    if (refusal !== undefined) this.#report(refusal)
    this.#grpc.cutOff(readableEnding(ending))
  }

  #report(refusal: Refusal): void {
    const { settings, path } = this.#admitting
    settings.refused(path, refusal)
  }
}

/** A flag for compression and four bytes of length (gRPC over HTTP/2, Length-Prefixed-Message). */
const PREFIX_BYTES = 5

export type Ending = Parameters<ServerInterceptingCallInterface['sendStatus']>[0]

/** Members of a grpc-js call that its types do not show. */
interface GrpcJsInternals extends ServerInterceptingCallInterface {
  readonly stream: ServerHttp2Stream
  decompressMessage(framed: Buffer, encoding: string): Promise<Buffer>
  handleDataFrame(chunk: Buffer): void
}

interface CallHooks {
  /** Called with each chunk of the message, before grpc-js buffers it. */
  bytes(chunk: Buffer): void
  /** Called before the headers of an answer are sent. */
  head(metadata: Metadata): void
  /** Decompresses a message; a rejection becomes the call's ending. */
  decompress(message: Buffer, encoding: string): Promise<Buffer>
  /** Called when a handler, an interceptor or grpc-js ends the call. Only `send` sends anything. */
  ending(ending: Ending): void
  closed(): void
}

/**
 * Uses the internals of grpc-js, as nothing but `grpcJsServer` does beside it: the bytes of a call as they arrive, what grpc-js keeps of them,
 * decompression, and every way a call ends. Memory could not be bounded without it: grpc-js counts a message only once it is complete, and its interceptors do not
 * see the calls that grpc-js ends before that.
 */
export class GrpcJsCall {
  /** The call as interceptors know it; the hooks see everything that goes through it. */
  readonly call: ServerInterceptingCallInterface
  readonly #stream: ServerHttp2Stream
  readonly #sendStatus: (ending: Ending) => void

  /** `call`: the one that the first interceptor gets. Throws for another version of grpc-js. */
  constructor(call: ServerInterceptingCallInterface, hooks: CallHooks) {
    const inside = internalsOf(call)
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
    const handle = inside.handleDataFrame.bind(inside)
    // Kept one by one, frames of a byte would take a hundred times their bytes until the message is complete.
    const chunks = new KeptChunks()
    inside.handleDataFrame = (chunk) => {
      chunks.add(chunk)
      for (const large of chunks.takeLarge()) handle(large)
    }
    this.#stream.prependListener('end', () => {
      for (const rest of chunks.all()) handle(rest)
    })
    this.#stream.once('close', () => hooks.closed())
  }

  /** An object that identifies the connection; the stream itself when the connection is gone. */
  get connection(): object {
    return this.#stream.session ?? this.#stream
  }

  /** Reading from the connection of the call. */
  get reading(): PausableReading {
    const { session } = this.#stream
    const isOpen = session !== undefined && !session.destroyed
    return pausableReadingOf(isOpen ? session.socket : {})
  }

  /** Ends the call with this status. */
  send(ending: Ending): void {
    this.#sendStatus(ending)
  }

  /** Ends the call before its message is complete; the rest of the message is dropped. */
  cutOff(ending: Ending): void {
    this.#sendStatus(ending)
    if (!this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  /** Stops reading the message. */
  readNoMore(): void {
    this.#stream.removeAllListeners('data')
  }
}

/** The connection that a call came on; undefined when it is gone. Throws as GrpcJsCall does. */
export function sessionOf(call: ServerInterceptingCallInterface): Http2Session | undefined {
  return internalsOf(call).stream.session
}

function internalsOf(call: ServerInterceptingCallInterface): GrpcJsInternals {
  const inside = call as Partial<GrpcJsInternals>
  const isKnown =
    typeof inside.stream?.prependListener === 'function' &&
    typeof inside.decompressMessage === 'function' &&
    typeof inside.handleDataFrame === 'function'
  if (!isKnown) throw unknownGrpcJs()
  return call as GrpcJsInternals
}

/** A message that is refused, with the status to answer. */
class RefusedMessage extends Error implements StatusObject {
  readonly code: status
  readonly details: string
  readonly metadata: Metadata

  constructor({ code, details, metadata }: StatusObject) {
    super(details)
    this.code = code
    this.details = details
    this.metadata = metadata
  }
}

/**
 * Decompresses a gRPC message, and counts its bytes while it grows. Rejects with RefusedMessage when it is
 * larger than `maxBytes`, the budget has no room, it is corrupt, or its encoding is unknown.
 */
async function decompressCounted(
  message: Buffer,
  encoding: string,
  maxBytes: number,
  reservation: Reservation,
): Promise<Buffer> {
  if (encoding === 'identity') return message
  const decompressor = ownValue(GRPC_CODINGS, encoding)?.()
  if (decompressor === undefined) throw notKnown(encoding)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const parts: Buffer[] = []
  let length = 0
  const stop = (ending: StatusObject): void => {
    parts.length = 0
    decompressor.destroy()
    reject(new RefusedMessage(ending))
  }
  decompressor.on('error', () =>
    stop(grpcStatusOf({ kind: 'malformed', reason: 'the compressed message is corrupt' })),
  )
  decompressor.on('data', (part: Buffer) => {
    length += part.length
    if (length > maxBytes)
      stop(bareStatus('tooLarge', `the message decompresses to more than ${maxBytes} bytes`))
    else if (!reservation.take(part.length)) stop(grpcStatusOf(BUDGET_EXHAUSTED))
    else parts.push(part)
  })
  decompressor.on('end', () => resolve(Buffer.concat(parts, length)))
  decompressor.end(message)
  return promise
}

/** Names the accepted encodings, as gRPC's compression.md requires. */
function notKnown(encoding: string): RefusedMessage {
  const details = `the message is compressed with ${encoding}; use one of ${GRPC_ACCEPT_ENCODING}`
  const ending = bareStatus('unknownCoding', details)
  ending.metadata.set('grpc-accept-encoding', GRPC_ACCEPT_ENCODING)
  return new RefusedMessage(ending)
}

/** The status with which grpc-js ends a call whose message it cannot read, though the fault is the sender's. */
const UNREADABLE = status.INTERNAL

/** The answer when a message was not complete in time. */
const TOO_SLOW = {
  kind: 'busy',
  retryAfterMs: 0,
  cause: 'time',
  reason: 'the request did not come whole in time; send it again',
} as const satisfies Refusal

/** The retry delay of a call over the connection limit, in milliseconds. */
const FEWER_CONNECTIONS_MS = 1_000

/** A refusal as gRPC trailers. */
export function grpcStatusOf(refusal: Refusal): StatusObject {
  return detailedStatus(ANSWER_STATUSES[refusal.kind].grpc, rpcStatusOf(refusal))
}

/** Trailers for a call on one connection too many. */
function tooManyConnectionsStatus(reason: string): StatusObject {
  const { grpc } = ANSWER_STATUSES.tooManyConnections
  return detailedStatus(grpc, { code: grpc, message: reason, retryAfterMs: FEWER_CONNECTIONS_MS })
}

/** Trailers with the whole google.rpc.Status, where gRPC clients look for RetryInfo. */
function detailedStatus(code: status, rpc: RpcStatus): StatusObject {
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(encodeRpcStatus('protobuf', rpc)))
  return { code, details: truncateMessage(rpc.message), metadata }
}

/** Trailers with the status of a table row, without RetryInfo. */
export function bareStatus(row: keyof typeof ANSWER_STATUSES, details: string): StatusObject {
  return { code: ANSWER_STATUSES[row].grpc, details, metadata: new Metadata() }
}

function tooSlowStatus(): StatusObject {
  return bareStatus('tooSlow', TOO_SLOW.reason)
}

/** Why a call ended before its message was complete; undefined when the client cancelled it or has no credential. */
function refusalOfEnding({ code, details: reason }: Ending): Refusal | undefined {
  if (code === ANSWER_STATUSES.busy.grpc) return BUDGET_EXHAUSTED
  if (code === ANSWER_STATUSES.tooLarge.grpc) return { kind: 'tooLarge', reason }
  const isMalformed = [
    UNREADABLE,
    ANSWER_STATUSES.malformed.grpc,
    ANSWER_STATUSES.unknownCoding.grpc,
  ].includes(code)
  return isMalformed ? { kind: 'malformed', reason } : undefined
}

/** The ending to send: INTERNAL of grpc-js, which blames the server, becomes `malformed`. */
function readableEnding(ending: Ending): Ending {
  return ending.code === UNREADABLE ? grpcStatusOf({ kind: 'malformed', reason: ending.details }) : ending
}
