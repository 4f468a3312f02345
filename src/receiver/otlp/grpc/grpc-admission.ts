import {
  Metadata,
  ServerInterceptingCall,
  status,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
} from '@grpc/grpc-js'
import { constants, type ServerHttp2Stream } from 'node:http2'
import { peerOf } from '../../../doors/peer.ts'
import type { Sender } from '../../../model/sender.ts'
import type { BodyPace, PacedBody } from '../http/body-pace.ts'
import { GRPC_ACCEPT_ENCODING } from '../codings/codings.ts'
import { decompressCounted } from '../http/decompress-counted.ts'
import { grpcStatusOf } from './grpc-status.ts'
import { holderOf } from '../../admission/holder-of.ts'
import { NO_ROOM } from '../../admission/in-flight.ts'
import { innermostCall } from './innermost-call.ts'
import type { Intake } from '../../admission/intake.ts'
import type { Refusal } from '../reply.ts'

export interface AdmissionSettings {
  maxMessageBytes: number
  /** How long a message may take to arrive; 0 is for ever. */
  requestTimeoutMs: number
  /** Told of calls that ended before their message was whole. */
  refused: (path: string, refusal: Refusal) => void
  /** Told which connection a call that is let in came on. */
  onCall: (metadata: Metadata, connection: object) => void
  /** Who makes a call that was let in; undefined where nobody is asked. */
  senderOf: (metadata: Metadata) => Sender | undefined
  pace: BodyPace
}

type Ending = Parameters<ServerInterceptingCallInterface['sendStatus']>[0]

const COMPRESSED_FLAG_AND_LENGTH = 5

/**
 * Turns calls away before their message is read while memory, the budget or the place of their sender is spent; counts every
 * byte toward the budget as it comes, also as it is decompressed, and ends calls whose message does not come in time. Reports
 * these and the calls that grpc-js ends by itself before their message is whole. No hook of its interceptors shows the latter,
 * so the call's own `sendStatus` is wrapped. What a call holds is given back when it is over.
 */
export function admission(intake: Intake, settings: AdmissionSettings): ServerInterceptor {
  const { maxMessageBytes, requestTimeoutMs, refused, onCall, senderOf, pace } = settings
  const peers = new Peers()
  return (method, outer) => {
    const call = innermostCall(outer)
    const { stream } = call
    const peer = peers.of(stream)
    const reservation = intake.inFlight.open(peer)
    let state: 'reading' | 'whole' | 'refused' = 'reading'
    let timer: NodeJS.Timeout | undefined
    let paced: PacedBody | undefined
    let sender: (() => Sender | undefined) | undefined
    const awaitNoMore = (): void => {
      clearTimeout(timer)
      if (paced !== undefined) pace.end(paced)
    }
    const become = (next: 'whole' | 'refused'): void => {
      state = next
      awaitNoMore()
      if (next === 'whole') reservation.isRead()
    }
    stream.once('close', () => {
      awaitNoMore()
      reservation[Symbol.dispose]()
    })
    const send = call.sendStatus.bind(call)
    /** What its sender still sends is dropped, and the memory that the call holds is free once it is closed. */
    const end = (ending: Ending): void => {
      send(ending)
      if (!stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR)
    }
    call.sendStatus = (ending) => {
      if (state === 'whole') {
        reservation[Symbol.dispose]()
        send(ending)
      }
      if (state !== 'reading') return
      become('refused')
      const refusal = refusalOf(ending.code, ending.details)
      if (refusal !== undefined) refused(method.path, refusal)
      end(refusal?.kind === 'malformed' && ending.code === status.INTERNAL ? grpcStatusOf(refusal) : ending)
    }
    const giveUp = (): void => {
      become('refused')
      refused(method.path, TOO_SLOW)
      end({ code: status.DEADLINE_EXCEEDED, details: TOO_SLOW.reason, metadata: new Metadata() })
    }
    const refuse = (refusal: Refusal): void => {
      become('refused')
      refused(method.path, refusal)
      void intake.ready(refusal).then((ready) => end(grpcStatusOf(ready)))
    }
    // grpc-js answers with what it could undo by itself.
    const sendHead = call.sendMetadata.bind(call)
    call.sendMetadata = (metadata) => {
      metadata.set('grpc-accept-encoding', GRPC_ACCEPT_ENCODING)
      sendHead(metadata)
    }
    call.decompressMessage = (framed, encoding) =>
      decompressCounted(framed.subarray(COMPRESSED_FLAG_AND_LENGTH), encoding, maxMessageBytes, reservation)
    const makeRoom = (): void => {
      if (state !== 'reading') return
      stream.removeAllListeners('data')
      refuse(NO_ROOM)
    }
    reservation.onGiveWay(makeRoom)
    const count = (chunk: Buffer): void => {
      if (state !== 'reading') return
      if (sender !== undefined) reservation.belongTo(holderOf(sender(), peer))
      sender = undefined
      if (paced !== undefined) paced.came += chunk.length
      if (!reservation.take(chunk.length)) makeRoom()
    }
    stream.prependListener('data', count)
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, pass) {
            const connection = stream.session ?? stream
            const refusal = intake.refusalOf(connection, reservation)
            if (refusal !== undefined) {
              refuse(refusal)
              return
            }
            if (requestTimeoutMs > 0) timer = setTimeout(giveUp, requestTimeoutMs)
            paced = pace.begin(giveUp)
            sender = () => senderOf(metadata)
            onCall(metadata, connection)
            pass(metadata)
          },
          onReceiveMessage(message, pass) {
            // The last bytes of a message that was refused for them still make it whole.
            if (state === 'refused') return
            become('whole')
            pass(message)
          },
        })
      },
    })
  }
}

/** From which address the calls of a connection come. */
class Peers {
  readonly #known = new WeakMap<object, string>()

  of({ session }: ServerHttp2Stream): string {
    if (session === undefined || session.destroyed) return ''
    let peer = this.#known.get(session)
    if (peer === undefined) this.#known.set(session, (peer = peerOf(session.socket.remoteAddress)))
    return peer
  }
}

/** Answered with DEADLINE_EXCEEDED, which senders repeat as they do UNAVAILABLE. */
const TOO_SLOW = {
  kind: 'busy',
  retryAfterMs: 0,
  cause: 'time',
  reason: 'the request did not come whole in time; send it again',
} as const satisfies Refusal

/** Why a call ended before its message was whole; undefined when the client gave up. */
function refusalOf(code: status, details: string): Refusal | undefined {
  if (code === status.UNAVAILABLE) return NO_ROOM
  if (code === status.RESOURCE_EXHAUSTED) return { kind: 'tooLarge', reason: details }
  const malformed = code === status.INTERNAL || code === status.UNIMPLEMENTED
  return malformed ? { kind: 'malformed', reason: details } : undefined
}
