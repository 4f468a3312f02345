import { ServerInterceptingCall, type Metadata, type ServerInterceptor } from '@grpc/grpc-js'
import type { Http2Session } from 'node:http2'
import type { Begun, Endpoints } from '../../../listeners/connections.ts'
import { peerOf } from '../../../listeners/peer.ts'
import type { Sender } from '../../../model/senders/sender.ts'
import type { BodyPace } from '../../http/body-pace.ts'
import type { Intake } from '../../admission/intake.ts'
import type { Refusal } from '../reply.ts'
import { AdmittedCall } from './admitted-call.ts'
import { sessionOf } from './grpc-js-call.ts'

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
  /** Told of every call that has begun on a connection. */
  begin: (connection: GrpcConnection) => Begun
  /** What whoever has one connection too many is told. */
  refusalText: (reason: 'limit' | 'address') => string
}

/** The connection of calls. */
export interface GrpcConnection extends Endpoints {
  readonly peer: string
  readonly session: Http2Session
}

/**
 * Turns calls away before their message is read while memory, the budget or the place of their sender is spent; counts every
 * byte toward the budget as it comes, also as it is decompressed, and ends calls whose message does not come in time. Reports
 * these and the calls that grpc-js ends by itself before their message is whole. What a call holds is given back when it is over.
 */
export function admission(intake: Intake, settings: AdmissionSettings): ServerInterceptor {
  const connections = new GrpcConnections()
  return ({ path }, outer) => {
    const call = new AdmittedCall(outer, {
      ...{ intake, settings, path, connection: connections.of(sessionOf(outer)) },
    })
    return new ServerInterceptingCall(call.call, {
      start(next) {
        next({
          onReceiveMetadata: (metadata, pass) => {
            if (call.begin(metadata)) pass(metadata)
          },
          onReceiveMessage: (message, pass) => {
            if (call.becomeWhole()) pass(message)
          },
        })
      },
    })
  }
}

/** Where each session comes from. */
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
